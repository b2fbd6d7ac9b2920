"""The page of the API, with an entry for every public name: docs/reference/api.md, written by `make docs`."""

from pathlib import Path

import polhode

PAGE = Path(__file__).parent / "reference" / "api.md"

GROUPS = {
    "One body": "Body FreeMotion simulate resume Solution Event prepare Prepared Stepper drift Drift",
    "Many bodies": "ensemble Ensemble quantity Reduced plan_ensemble EnsemblePlan",
    "Bodies that act on each other": ("System simulate_system resume_system SystemSolution pairs forces Langevin"),
    "See it turn": "view",
    "Data and other simulators": "fit Fit check Verdict",
    "Methods": "compare Comparison",
    "Torques: make your own": (
        "torque torque_from_pointer Sampled thrusters Table table_at where clip cross dot to_body to_space"
    ),
    "Torques: models": (
        "Free ConstantBodyTorque ConstantSpaceTorque ControlMomentGyros CoulombSoftWall Damper Facets GravityGradient "
        "HeavyTop LinearDamping MagneticDipole Magnetorquers OrbitalGravityGradient PiecewiseTorque ReactionWheels "
        "SinusoidalTorque"
    ),
    "Attitudes": "quaternion_conjugate quaternion_from_euler quaternion_from_mrp quaternion_product",
    "Files": "load read_aem read_apm",
    "What can go wrong": (
        "SimulationFailed SimulationInterrupted EnsembleInterrupted ComparisonInterrupted ToleranceNotReached "
        "DriftImpossible "
        "EventsUnresolved ShortSteps LongSteps LongRun ScaledQuaternion BadFile"
    ),
}
"""Which names stand together; a public name in none of them stands under "More"."""

MODULES = {
    "systems": "Forces and events of bodies that act on each other",
    "cases": "Check cases",
    "cluster": "What can go wrong with plans",
    "environment": "Bodies in orbit",
    "samples": "Distributions to draw ensembles from",
    "elliptic": "Elliptic functions",
    "mujoco": "In the loop of MuJoCo",
}
LISTS = ("methods", "torques", "__version__")
"""Names that have pages of their own, or need none."""

INTRODUCTION = """\
# The API

Everything here is reached by `import polhode as ph`. Each name has a page, with its types, what it does, an example
that the tests run (`np` is NumPy there), and pictures of the gallery that use it. `ph.methods()` and `ph.torques()`
list what there is to choose from; their pages are [methods](methods.md) and [torques](torques.md).
"""


def page() -> str:
    """Returns the whole page."""
    listed = {name for names in GROUPS.values() for name in names.split()} | set(MODULES) | set(LISTS)
    groups = {title: names.split() for title, names in GROUPS.items()}
    if more := [name for name in polhode.__all__ if name not in listed]:
        groups["More"] = more
    parts = [INTRODUCTION]
    parts += [_table(title, names) for title, names in groups.items()]
    for module, title in MODULES.items():
        names = getattr(polhode, module).__all__
        parts.append(_table(f"{title}: polhode.{module}", [f"{module}.{name}" for name in sorted(names)]))
    return "\n\n".join(parts) + "\n"


def _table(title: str, names: list[str]) -> str:
    rows = "\n".join(f"   polhode.{name}" for name in names)
    return f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{rows}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
