"""polhode: the rotation of rigid bodies.

Exact when a body is free, structure-preserving when it is torqued. Public names are brought in when first asked for,
so that importing polhode costs next to nothing.
"""

from typing import TYPE_CHECKING

from polhode.support.interrupts import on_demand

__version__ = "0.3.0"

if TYPE_CHECKING:
    from polhode import cases as cases
    from polhode import cluster as cluster
    from polhode import elliptic as elliptic
    from polhode import environment as environment
    from polhode import methods as methods
    from polhode import mujoco as mujoco
    from polhode import samples as samples
    from polhode import sensors as sensors
    from polhode import systems as systems
    from polhode import torques as torques
    from polhode.accuracy.policy import ToleranceNotReached as ToleranceNotReached
    from polhode.api.check import check as check
    from polhode.api.compare import Comparison as Comparison
    from polhode.api.compare import ComparisonInterrupted as ComparisonInterrupted
    from polhode.api.compare import compare as compare
    from polhode.api.drift import drift as drift
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
    from polhode.averages.course import DriftImpossible as DriftImpossible
    from polhode.averages.result import Drift as Drift
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
    from polhode.run.integration import SimulationFailed as SimulationFailed
    from polhode.run.integration import SimulationInterrupted as SimulationInterrupted
    from polhode.run.step_warnings import LongRun as LongRun
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
    from polhode.torques._thrusters import thrusters as thrusters
    from polhode.torques.control_moment_gyros import ControlMomentGyros as ControlMomentGyros
    from polhode.torques.coulomb_soft_wall import CoulombSoftWall as CoulombSoftWall
    from polhode.torques.damper import Damper as Damper
    from polhode.torques.damping import LinearDamping as LinearDamping
    from polhode.torques.facets import Facets as Facets
    from polhode.torques.gravity_gradient import GravityGradient as GravityGradient
    from polhode.torques.gravity_gradient import OrbitalGravityGradient as OrbitalGravityGradient
    from polhode.torques.heavy_top import HeavyTop as HeavyTop
    from polhode.torques.magnetic_dipole import MagneticDipole as MagneticDipole
    from polhode.torques.magnetorquers import Magnetorquers as Magnetorquers
    from polhode.torques.mass_flow import MassFlow as MassFlow
    from polhode.torques.no_torque import Free as Free
    from polhode.torques.prescribed import ConstantBodyTorque as ConstantBodyTorque
    from polhode.torques.prescribed import ConstantSpaceTorque as ConstantSpaceTorque
    from polhode.torques.prescribed import PiecewiseTorque as PiecewiseTorque
    from polhode.torques.prescribed import SinusoidalTorque as SinusoidalTorque
    from polhode.torques.reaction_wheels import ReactionWheels as ReactionWheels
    from polhode.torques.table import Table as Table
    from polhode.vectors import clip as clip
    from polhode.vectors import cross as cross
    from polhode.vectors import dot as dot
    from polhode.vectors import quaternion_conjugate as quaternion_conjugate
    from polhode.vectors import quaternion_product as quaternion_product
    from polhode.vectors import to_body as to_body
    from polhode.vectors import to_space as to_space

__getattr__, __dir__, __all__ = on_demand(__name__, "__version__")
