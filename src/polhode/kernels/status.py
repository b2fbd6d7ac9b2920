"""What a kernel reports about its step. Zero is good news."""

import enum

OK = 0
UNSOUND = 1
NO_CONVERGENCE = 2
RAISED = 3
INTERRUPTED = 4
UNCOVERED = 5
STALLED = 6
ALONE = 7
STIFF = 8

EXCEPTION = -(2**62)
"""What a compiled program returns if its code has raised an exception: no status and no count."""


class Status(enum.IntEnum):
    """How a run ended: the numbers that kernels report, each with the sentence that a user reads."""

    OK = OK
    UNSOUND = UNSOUND
    """The step left numbers that are not finite, or an attitude that is no rotation."""
    NO_CONVERGENCE = NO_CONVERGENCE
    """No step was found: an implicit equation was not solved in the allowed iterations, or its solution is no step."""
    RAISED = RAISED
    """The torque raised an exception. Reported by the caller of a driver, not by kernels."""
    INTERRUPTED = INTERRUPTED
    """The user stopped the run. Reported by the caller of a driver, not by kernels."""
    UNCOVERED = UNCOVERED
    """The formulas of the method do not cover this motion."""
    STALLED = STALLED
    """A step that chooses its own length cannot go on: the length has fallen below the resolution of the time."""
    ALONE = ALONE
    """Among many bodies: several at a time cannot go on with this one. Seen by no user."""
    STIFF = STIFF
    """Steps are limited by stability. Reported by the caller of a driver where another method is to go on."""

    @property
    def sentence(self) -> str:
        """The sentence to be filled in: `method`, `torque`, `raised`, `step`, `remedy` and `place` (steps and time)."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.OK: "reached {place}",
    Status.UNSOUND: "{method} produced NaN or infinity with step {step:g} {place}: {remedy}",
    Status.NO_CONVERGENCE: "{method} could not solve its step equation with step {step:g} {place}: {remedy}",
    Status.RAISED: "the torque {torque} raised {raised} {place}",
    Status.INTERRUPTED: "interrupted {place}",
    Status.UNCOVERED: "the formulas of {method} do not cover this motion (it is too close to a steady rotation or to "
    "the separatrix, or the body to a sphere) {place}: use Exact",
    Status.STALLED: "the steps of {method} became too short {place}: {remedy}",
    Status.STIFF: "the torque {torque} is stiff: the steps of {method} are limited by stability, not by accuracy, "
    "{place}; use Radau",
    Status.ALONE: "waits to go on outside the lanes {place}",
}
