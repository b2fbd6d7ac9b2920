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
"""Lanes cannot go on with this body among many; it will go on alone. No user sees this status."""
TOO_LONG = 8
"""The equations of a step were solved, but the motion within it changes faster than the method can follow."""

# Reported by the caller of a driver, not by kernels:
RAISED = 3
"""The torque raised an exception."""
INTERRUPTED = 4
"""The user stopped the run."""
