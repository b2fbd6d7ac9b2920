"""The methods that a newcomer needs, by what they are for, with one sentence each on when to choose it.

It is a choice among all methods, so it is made in one place: a new method is listed by `polhode methods --all` and
its card without a word here. A name may carry options, as in `Strang(corrector=17)`.
"""

START_HERE: dict[str, dict[str, str]] = {
    "A free body": {
        "Exact": "Steps of any length with an error at round-off; for single times `FreeMotion` needs no steps at all.",
        "ExactPolished": "Millions of steps: round-off does not accumulate, at 2.5 times the cost of Exact.",
    },
    "A torque that reads attitude and time: gravity, a magnetic field, thrust by the clock": {
        "MR2": "The first to try: cheap steps of order 2, and an energy error that stays bounded over any time.",
        "Strang": "The same around the exact free motion: the weaker the torque, the smaller the error.",
        "KL6": "Nine steps of MR2 in a row, of order 6: when MR2 would need far too short steps.",
    },
    "A weak torque over a long time: satellites, moons, fast tops": {
        "Strang(corrector=17)": "One evaluation a step, an error of the torque squared; for outputs many steps apart.",
        "TakahashiImada": "Two evaluations a step and a still smaller error; for outputs many steps apart as well.",
        "SABA": "Very weak torques with outputs at every step: eight evaluations in a very long step.",
        "ABA1064": "The same for torques that are not quite so weak.",
    },
    "An error near round-off": {
        "G8": "Order 16 at long steps, for torques of any strength and kind, those that read the rate as well.",
    },
    "A torque that reads the rate: friction, feedback control": {
        "RK4": "The method that everybody knows: short runs of moderate accuracy. Its energy drifts.",
        "CF4": "Of the same order and evaluations, by rotations: the attitude needs no normalising.",
    },
    "Steps that choose their own length": {
        "DOP853": "Torques that jump or bend at unknown times; its tolerance is for a step, `rtol` is for the answer.",
        "Radau": "Stiff torques: strong damping, a stiff controller; implicit steps as long as the slow motion allows.",
        "HLR": "Motions that are slow here and fast there: MR2 with variable steps that stay reversible.",
    },
    "From the papers, to compare with": {
        "SEJ": "celledoni2006: exact momentum by elliptic functions, attitude by Magnus's series.",
        "DMV2": "The discrete Moser-Veselov map: a free body keeps energy and momentum to round-off.",
        "NMB": "krysl2004: explicit Newmark in the body frame, one evaluation a step.",
        "LewisSimo": "Implicit, with the momentum balanced in space, for torques of any kind.",
        "AKW": "An implicit midpoint rule that conserves the energy in a uniform field, at any step.",
        "LS": "khlistunova2003: a leapfrog for nearly symmetric bodies.",
    },
}
"""Purpose, then name, then when to choose it. The order is that in which they are shown."""

ADVICE = (
    "Not sure? Give an error instead of a method: simulate(..., rtol=1e-9), or rtol = 1e-9 in a scenario file, chooses "
    "method and step for you and states the error of the answer."
)
"""Advice to let `rtol` choose."""
