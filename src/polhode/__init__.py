"""polhode: the rotation of rigid bodies.

Exact when a body is free, structure-preserving when it is torqued. Public names are brought in when first asked for,
so that importing polhode costs next to nothing.
"""

from typing import TYPE_CHECKING

from polhode.support.interrupts import on_demand

__version__ = "0.2.0"

if TYPE_CHECKING:
    from polhode import cluster as cluster
    from polhode import elliptic as elliptic
    from polhode import environment as environment
    from polhode import methods as methods
    from polhode import samples as samples
    from polhode import systems as systems
    from polhode import torques as torques
    from polhode.accuracy.policy import ToleranceNotReached as ToleranceNotReached
    from polhode.api.check import check as check
    from polhode.api.compare import Comparison as Comparison
    from polhode.api.compare import ComparisonInterrupted as ComparisonInterrupted
    from polhode.api.compare import compare as compare
    from polhode.api.ensemble import ensemble as ensemble
    from polhode.api.fit import fit as fit
    from polhode.api.load import load as load
    from polhode.api.plan import EnsemblePlan as EnsemblePlan
    from polhode.api.plan import plan_ensemble as plan_ensemble
    from polhode.api.prepare import Prepared as Prepared
    from polhode.api.prepare import prepare as prepare
    from polhode.api.simulate import resume as resume
    from polhode.api.simulate import simulate as simulate
    from polhode.api.stepper import Stepper as Stepper
    from polhode.api.systems import resume_system as resume_system
    from polhode.api.systems import simulate_system as simulate_system
    from polhode.api.view import plot as plot
    from polhode.api.view import view as view
    from polhode.attitudes import quaternion_from_euler as quaternion_from_euler
    from polhode.attitudes import quaternion_from_mrp as quaternion_from_mrp
    from polhode.body import Body as Body
    from polhode.ensembles.reduce import Reduced as Reduced
    from polhode.ensembles.reduce import quantity as quantity
    from polhode.ensembles.result import Ensemble as Ensemble
    from polhode.ensembles.result import EnsembleInterrupted as EnsembleInterrupted
    from polhode.events.find import Event as Event
    from polhode.events.find import EventsUnresolved as EventsUnresolved
    from polhode.files.ccsds import read_aem as read_aem
    from polhode.files.ccsds import read_apm as read_apm
    from polhode.files.netcdf import BadFile as BadFile
    from polhode.fitting.fit_result import Fit as Fit
    from polhode.free.free_motion import FreeMotion as FreeMotion
    from polhode.kernels.algebra.vector_table import table_at as table_at
    from polhode.kernels.ops import where as where
    from polhode.referee.verdict import Verdict as Verdict
    from polhode.run.cost import LongRun as LongRun
    from polhode.run.integration import SimulationFailed as SimulationFailed
    from polhode.run.integration import SimulationInterrupted as SimulationInterrupted
    from polhode.run.step_warnings import ShortSteps as ShortSteps
    from polhode.solution import Solution as Solution
    from polhode.support.checks import LongSteps as LongSteps
    from polhode.support.checks import ScaledQuaternion as ScaledQuaternion
    from polhode.systems.forces import forces as forces
    from polhode.systems.forces import pairs as pairs
    from polhode.systems.solution import SystemSolution as SystemSolution
    from polhode.systems.steps import Langevin as Langevin
    from polhode.systems.system import System as System
    from polhode.torques import torque as torque
    from polhode.torques import torque_from_pointer as torque_from_pointer
    from polhode.torques._sampled import Sampled as Sampled
    from polhode.torques.constant_body import ConstantBodyTorque as ConstantBodyTorque
    from polhode.torques.constant_space import ConstantSpaceTorque as ConstantSpaceTorque
    from polhode.torques.coulomb_soft_wall import CoulombSoftWall as CoulombSoftWall
    from polhode.torques.damper import Damper as Damper
    from polhode.torques.damping import LinearDamping as LinearDamping
    from polhode.torques.facets import Facets as Facets
    from polhode.torques.gravity_gradient import GravityGradient as GravityGradient
    from polhode.torques.heavy_top import HeavyTop as HeavyTop
    from polhode.torques.magnetic_dipole import MagneticDipole as MagneticDipole
    from polhode.torques.no_torque import Free as Free
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
    "BadFile": "files.netcdf",
    "Body": "body",
    "Comparison": "api.compare",
    "ComparisonInterrupted": "api.compare",
    "ConstantBodyTorque": "torques.constant_body",
    "ConstantSpaceTorque": "torques.constant_space",
    "CoulombSoftWall": "torques.coulomb_soft_wall",
    "Damper": "torques.damper",
    "Ensemble": "ensembles.result",
    "EnsembleInterrupted": "ensembles.result",
    "EnsemblePlan": "api.plan",
    "Event": "events.find",
    "EventsUnresolved": "events.find",
    "Facets": "torques.facets",
    "Fit": "fitting.fit_result",
    "Free": "torques.no_torque",
    "FreeMotion": "free.free_motion",
    "GravityGradient": "torques.gravity_gradient",
    "HeavyTop": "torques.heavy_top",
    "Langevin": "systems.steps",
    "LinearDamping": "torques.damping",
    "LongRun": "run.cost",
    "LongSteps": "support.checks",
    "MagneticDipole": "torques.magnetic_dipole",
    "OrbitalGravityGradient": "torques.orbital_gravity_gradient",
    "PiecewiseTorque": "torques.piecewise",
    "Prepared": "api.prepare",
    "ReactionWheels": "torques.reaction_wheels",
    "Reduced": "ensembles.reduce",
    "Sampled": "torques._sampled",
    "ScaledQuaternion": "support.checks",
    "ShortSteps": "run.step_warnings",
    "SimulationFailed": "run.integration",
    "SimulationInterrupted": "run.integration",
    "SinusoidalTorque": "torques.sinusoidal",
    "Solution": "solution",
    "Stepper": "api.stepper",
    "System": "systems.system",
    "SystemSolution": "systems.solution",
    "Table": "torques.table",
    "ToleranceNotReached": "accuracy.policy",
    "Verdict": "referee.verdict",
    "check": "api.check",
    "clip": "vectors",
    "compare": "api.compare",
    "cross": "vectors",
    "dot": "vectors",
    "ensemble": "api.ensemble",
    "forces": "systems.forces",
    "fit": "api.fit",
    "load": "api.load",
    "pairs": "systems.forces",
    "plan_ensemble": "api.plan",
    "plot": "api.view",
    "prepare": "api.prepare",
    "quantity": "ensembles.reduce",
    "quaternion_conjugate": "vectors",
    "quaternion_from_euler": "attitudes",
    "quaternion_from_mrp": "attitudes",
    "quaternion_product": "vectors",
    "read_aem": "files.ccsds",
    "read_apm": "files.ccsds",
    "resume": "api.simulate",
    "resume_system": "api.systems",
    "simulate": "api.simulate",
    "simulate_system": "api.systems",
    "table_at": "kernels.algebra.vector_table",
    "to_body": "vectors",
    "to_space": "vectors",
    "torque": "torques",
    "torque_from_pointer": "torques",
    "view": "api.view",
    "where": "kernels.ops",
}
_MODULES = ("cluster", "elliptic", "environment", "methods", "samples", "systems", "torques")
__all__ = sorted([*_HOME, *_MODULES, "__version__"])
__getattr__, __dir__ = on_demand(__name__, _HOME, _MODULES)
