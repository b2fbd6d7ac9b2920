"""One torque for each thing that a torque may be made of. A scenario can name this file: it needs nothing beside it."""

import ctypes
from typing import Any

import numpy as np

import polhode as ph

BODY = ph.Body([1.0, 1.7, 2.2])
TIMES = np.array([-1.0, -0.3, 0.13, 0.31, 0.5, 1.2, 2.0, 3.0])
VECTORS = np.stack([0.3 * np.cos(TIMES), 0.2 * np.sin(TIMES), 0.1 * TIMES], axis=1)
SMOOTH = ph.Table(TIMES, VECTORS, frame="space")
STEPS = ph.Table(TIMES, VECTORS, kind="steps")
ORBIT = ph.environment.Orbit(semi_major_axis=6.8e6, inclination_deg=51.6)
FIELD = ph.environment.DipoleField(ORBIT)
NUMBERS = ctypes.POINTER(ctypes.c_double)


@ph.torque(parameters=[0.4, 0.1])
def parameters(t: float, q: Any, w: Any, p: Any) -> Any:
    """Numbers in p."""
    return (p[0] * q[1], p[1] * t, -p[0] * q[2])


@ph.torque(parameters=[0.4], from_body=lambda body: body.moments)
def numbers_of_the_body(t: float, q: Any, w: Any, p: Any) -> Any:
    """The moments behind the parameters."""
    return (p[0] * p[1] * q[1], p[0] * p[2] * q[2], p[0] * p[3] * q[3])


@ph.torque(parameters=[SMOOTH, 0.7])
def table_as_a_parameter(t: float, q: Any, w: Any, p: Any) -> Any:
    """A table that the function looks up."""
    x, y, z = ph.to_body(q, ph.table_at(p[0], t))
    return (p[1] * y, p[1] * z, p[1] * x)


@ph.torque(parameters=[FIELD, 3e3])
def field_as_a_parameter(t: float, q: Any, w: Any, p: Any) -> Any:
    """A field along an orbit that the function looks up."""
    x, y, z = ph.to_body(q, ph.table_at(p[0], t))
    return (p[1] * y, p[1] * z, p[1] * x)


@ph.torque(state=["a", "b"])
def carried_numbers(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """Two numbers that swing, and act on the body."""
    return (0.5 * z[0], 0.3 * q[1], -0.2 * z[1]), (z[1], -1.3 * z[0] + 0.4 * q[1])


@ph.torque(breakpoints=[0.13])
def breakpoint(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque that jumps between two steps."""
    return (0.3 if t < 0.13 else -0.2, 0.1 * q[1], 0.0)


@ph.torque(parameters=[0.4], compiled=False, depends=["attitude", "time"])
def callback(t: float, q: Any, w: Any, p: Any) -> Any:
    """A function that is called as it is."""
    return np.array([p[0] * q[1], 0.1 * t, -p[0] * q[2]])


@ctypes.CFUNCTYPE(None, ctypes.c_double, NUMBERS, NUMBERS, NUMBERS, NUMBERS)  # type: ignore[untyped-decorator]
def _of_c(t: float, q: Any, w: Any, p: Any, torque: Any) -> None:
    torque[0], torque[1], torque[2] = p[0] * q[1], 0.1 * t, -p[0] * q[2]


def _law(t: float, q: Any, w: Any, p: Any) -> Any:
    return (-p[0] * w[0], -p[0] * w[1], p[0] * q[1])


c_pointer = ph.torque_from_pointer(_of_c, parameters=[0.4], depends=["attitude", "time"], name="c_pointer")


def _moments(t: float, q: Any, w: Any, p: Any, b: Any) -> Any:
    return (p[0] * b[1], -p[0] * b[2] * q[1], 2.0)


def _commands(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * w[1], -p[0] * w[0])


def _on_times(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * w[0], 0.2 - p[0] * w[1])


@ph.torque(parameters=[0.4], reads=["gimbal_1", "gimbal_2", "gimbal_3", "gimbal_4"])
def _reader(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    return (p[0] * z[0], p[0] * z[1] * z[2], -p[0] * z[3])


def _gimbals(t: float, q: Any, w: Any, p: Any, angles: Any) -> Any:
    return (p[0] * w[0], -p[0] * w[1], p[0] * angles[0], 0.3)


table = SMOOTH
table_with_jumps = STEPS
field = ph.MagneticDipole(moment=(0.0, 3e3, 1e3), field=FIELD)
sum_of_torques = ph.GravityGradient(0.3) + 0.5 * parameters
window = parameters.during(0.07, 0.21)
sampled = ph.Sampled(0.08, _law, parameters=[0.6])
torquers = ph.Magnetorquers(((1, 0, 0), (0, 1, 0), (0, 0, 1)), 1.0, SMOOTH, law=_moments, parameters_of_law=(3.0,))
commands = ph.Magnetorquers(((1, 0, 0), (0, 1, 1)), 0.5, SMOOTH, reads=("m_1", "m_2")) + ph.Sampled(
    0.08, _commands, parameters=[1.6], holds=["m_1", "m_2"]
)
reading = _reader.during(0.07, 0.21) + ph.ControlMomentGyros.pyramid(
    0.2, angles=(0.1, 0.2, -0.3, 0.5), law=_gimbals, parameters_of_law=(2.0,)
)
pulses = ph.thrusters(
    [[0.3, 0, 0.1], [0, -0.2, 0]], _on_times, period=0.12, tick=0.02, minimum_on=0.04, parameters=[0.31]
)
