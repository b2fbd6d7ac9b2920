"""Extrapolation of the midpoint rule, with steps chosen by a tolerance."""

from polhode.kernels.steps.extrapolation import RUN, ExtrapolationScheme
from polhode.methods._method import DESPUN, Method, Option, tolerance, with_options

SCHEMES = ExtrapolationScheme(), ExtrapolationScheme(despun=True)
"""One object of each: tolerances share a program."""


def _gbs(rtol: float, despun: bool) -> Method:
    return Method(
        "GBS",
        SCHEMES[despun],
        summary="Extrapolated midpoint rule of order 14, with steps chosen by a tolerance",
        about="The method of Gragg, Bulirsch and Stoer: a step is made by the midpoint rule with 2, 4, ..., 14 "
        "substeps, and these seven results are extrapolated to substeps of no length. The error of a step is the "
        "difference from the extrapolation without the coarsest result; a step is accepted if it is below 1.5 "
        "rtol: in the attitude, in radians, and in the rate, relative to the largest rate so far. Steps turn the "
        "body by one to six radians, and none is longer than the user's. The sequences stand in the lanes of "
        "vector registers, so that thirteen calls of the torque, each for four points, make a step; a torque that "
        "cannot be computed so is called 50 times. Every output between steps costs a step. The quaternion is "
        "kept at unit length. With despun=true symmetric bodies are seen from a frame that does not take part in "
        "their spin, which makes steps two to ten times as long if that is fast. Keeps nothing: energy and momentum "
        "drift by about the tolerance a step. Takes any torque that is smooth; `rtol` of simulate takes it for most "
        "motions of less than 3,000 radians.",
        cite="gragg1965,bulirsch1966,hairer1993",
        order=RUN.order,
        accepts_rotor=True,
        accepts_changing=True,
        variable_steps=True,
        adaptive=True,
        stable_decay=6.5,
        tuning=(tolerance("GBS", rtol), 0.0),
        estimate_factor=5.0,
    )


GBS = with_options(
    _gbs,
    Option("rtol", 1e-9, "error allowed in a step: attitude, and rate relative to its largest size so far"),
    DESPUN,
)
