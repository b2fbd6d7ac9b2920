"""polhode: the rotation of rigid bodies.

Exact when a body is free, structure-preserving when it is torqued. Public names are brought in when first asked for,
so that importing polhode costs next to nothing.
"""

from typing import TYPE_CHECKING

from polhode._interrupts import on_demand

__version__ = "0.2.0"

if TYPE_CHECKING:
    from polhode import cluster as cluster
    from polhode import elliptic as elliptic
    from polhode import environment as environment
    from polhode import methods as methods
    from polhode import samples as samples
    from polhode import systems as systems
    from polhode import torques as torques
    from polhode._check import LongSteps as LongSteps
    from polhode._check import ScaledQuaternion as ScaledQuaternion
    from polhode._compare import Comparison as Comparison
    from polhode._compare import ComparisonInterrupted as ComparisonInterrupted
    from polhode._compare import compare as compare
    from polhode._load import load as load
    from polhode._prepare import Prepared as Prepared
    from polhode._prepare import prepare as prepare
    from polhode._simulate import resume as resume
    from polhode._simulate import simulate as simulate
    from polhode._view import plot as plot
    from polhode._view import view as view
    from polhode._watch import Event as Event
    from polhode._watch import EventsUnresolved as EventsUnresolved
    from polhode.attitudes import quaternion_from_euler as quaternion_from_euler
    from polhode.attitudes import quaternion_from_mrp as quaternion_from_mrp
    from polhode.body import Body as Body
    from polhode.cluster.plan import EnsemblePlan as EnsemblePlan
    from polhode.cluster.plan import plan_ensemble as plan_ensemble
    from polhode.core.ops import where as where
    from polhode.core.table import table_at as table_at
    from polhode.ensembles.ensemble import ensemble as ensemble
    from polhode.ensembles.reduce import Reduced as Reduced
    from polhode.ensembles.reduce import quantity as quantity
    from polhode.ensembles.result import Ensemble as Ensemble
    from polhode.ensembles.result import EnsembleInterrupted as EnsembleInterrupted
    from polhode.fitting.fit import fit as fit
    from polhode.fitting.result import Fit as Fit
    from polhode.free import FreeMotion as FreeMotion
    from polhode.integration.cost import LongRun as LongRun
    from polhode.integration.loop import SimulationFailed as SimulationFailed
    from polhode.integration.loop import SimulationInterrupted as SimulationInterrupted
    from polhode.integration.short_steps import ShortSteps as ShortSteps
    from polhode.io.ccsds import read_aem as read_aem
    from polhode.io.ccsds import read_apm as read_apm
    from polhode.io.netcdf import BadFile as BadFile
    from polhode.referee.judge import check as check
    from polhode.referee.verdict import Verdict as Verdict
    from polhode.solution import Solution as Solution
    from polhode.stepping.stepper import Stepper as Stepper
    from polhode.systems.forces import forces as forces
    from polhode.systems.forces import pairs as pairs
    from polhode.systems.simulate import resume_system as resume_system
    from polhode.systems.simulate import simulate_system as simulate_system
    from polhode.systems.solution import SystemSolution as SystemSolution
    from polhode.systems.steps import Langevin as Langevin
    from polhode.systems.system import System as System
    from polhode.tolerance.policy import ToleranceNotReached as ToleranceNotReached
    from polhode.torques import torque as torque
    from polhode.torques import torque_from_pointer as torque_from_pointer
    from polhode.torques._sampled import Sampled as Sampled
    from polhode.torques.constant_body import ConstantBodyTorque as ConstantBodyTorque
    from polhode.torques.constant_space import ConstantSpaceTorque as ConstantSpaceTorque
    from polhode.torques.coulomb_soft_wall import CoulombSoftWall as CoulombSoftWall
    from polhode.torques.damper import Damper as Damper
    from polhode.torques.damping import LinearDamping as LinearDamping
    from polhode.torques.facets import Facets as Facets
    from polhode.torques.free import Free as Free
    from polhode.torques.gravity_gradient import GravityGradient as GravityGradient
    from polhode.torques.heavy_top import HeavyTop as HeavyTop
    from polhode.torques.magnetic_dipole import MagneticDipole as MagneticDipole
    from polhode.torques.orbital_gravity_gradient import OrbitalGravityGradient as OrbitalGravityGradient
    from polhode.torques.piecewise import PiecewiseTorque as PiecewiseTorque
    from polhode.torques.reaction_wheels import ReactionWheels as ReactionWheels
    from polhode.torques.sinusoidal import SinusoidalTorque as SinusoidalTorque
    from polhode.torques.table import Table as Table
    from polhode.vectors import clip as clip
    from polhode.vectors import cross as cross
    from polhode.vectors import dot as dot
    from polhode.vectors import quaternion_conjugate as quaternion_conjugate
    from polhode.vectors import quaternion_product as quaternion_product
    from polhode.vectors import to_body as to_body
    from polhode.vectors import to_space as to_space

_HOME = {
    "BadFile": "io.netcdf",
    "Body": "body",
    "Comparison": "_compare",
    "ComparisonInterrupted": "_compare",
    "ConstantBodyTorque": "torques.constant_body",
    "ConstantSpaceTorque": "torques.constant_space",
    "CoulombSoftWall": "torques.coulomb_soft_wall",
    "Damper": "torques.damper",
    "Ensemble": "ensembles.result",
    "EnsembleInterrupted": "ensembles.result",
    "EnsemblePlan": "cluster.plan",
    "Event": "_watch",
    "EventsUnresolved": "_watch",
    "Facets": "torques.facets",
    "Fit": "fitting.result",
    "Free": "torques.free",
    "FreeMotion": "free",
    "GravityGradient": "torques.gravity_gradient",
    "HeavyTop": "torques.heavy_top",
    "Langevin": "systems.steps",
    "LinearDamping": "torques.damping",
    "LongRun": "integration.cost",
    "LongSteps": "_check",
    "MagneticDipole": "torques.magnetic_dipole",
    "OrbitalGravityGradient": "torques.orbital_gravity_gradient",
    "PiecewiseTorque": "torques.piecewise",
    "Prepared": "_prepare",
    "ReactionWheels": "torques.reaction_wheels",
    "Reduced": "ensembles.reduce",
    "Sampled": "torques._sampled",
    "ScaledQuaternion": "_check",
    "ShortSteps": "integration.short_steps",
    "SimulationFailed": "integration.loop",
    "SimulationInterrupted": "integration.loop",
    "SinusoidalTorque": "torques.sinusoidal",
    "Solution": "solution",
    "Stepper": "stepping.stepper",
    "System": "systems.system",
    "SystemSolution": "systems.solution",
    "Table": "torques.table",
    "ToleranceNotReached": "tolerance.policy",
    "Verdict": "referee.verdict",
    "check": "referee.judge",
    "clip": "vectors",
    "compare": "_compare",
    "cross": "vectors",
    "dot": "vectors",
    "ensemble": "ensembles.ensemble",
    "forces": "systems.forces",
    "fit": "fitting.fit",
    "load": "_load",
    "pairs": "systems.forces",
    "plan_ensemble": "cluster.plan",
    "plot": "_view",
    "prepare": "_prepare",
    "quantity": "ensembles.reduce",
    "quaternion_conjugate": "vectors",
    "quaternion_from_euler": "attitudes",
    "quaternion_from_mrp": "attitudes",
    "quaternion_product": "vectors",
    "read_aem": "io.ccsds",
    "read_apm": "io.ccsds",
    "resume": "_simulate",
    "resume_system": "systems.simulate",
    "simulate": "_simulate",
    "simulate_system": "systems.simulate",
    "table_at": "core.table",
    "to_body": "vectors",
    "to_space": "vectors",
    "torque": "torques",
    "torque_from_pointer": "torques",
    "view": "_view",
    "where": "core.ops",
}
_MODULES = ("cluster", "elliptic", "environment", "methods", "samples", "systems", "torques")
__all__ = sorted([*_HOME, *_MODULES, "__version__"])
__getattr__, __dir__ = on_demand(__name__, _HOME, _MODULES)
