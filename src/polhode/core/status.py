"""What a kernel reports about its step. Zero is good news."""

OK = 0
UNSOUND = 1
"""The step left numbers that are not finite, or an attitude that is no rotation."""
NO_CONVERGENCE = 2
"""An implicit equation was not solved within the allowed iterations."""
UNCOVERED = 5
"""The formulas of the method do not cover this motion."""
STALLED = 6
"""A step that chooses its own length cannot go on: the length has fallen below the resolution of the time."""
ALONE = 7
"""Among many bodies: several at a time cannot go on with this one. Seen by no user."""

# Reported by the caller of a driver, not by kernels:
RAISED = 3
"""The torque raised an exception."""
INTERRUPTED = 4
"""The user stopped the run."""
