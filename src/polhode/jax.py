"""Motions that JAX differentiates: `grad`, `jvp`, `vjp`, `vmap` and `jit` work, and derivatives are exact.

Import it as `import polhode.jax`, with `pip install 'polhode[jax]'`. States and Jacobians come from one call of polhode
on the host, in double precision; JAX keeps them as floats of 32 bits unless `jax.config.update("jax_enable_x64", True)`
says otherwise. First derivatives only: a Jacobian is not differentiated once more.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from polhode.body import Body
from polhode.gradients import StatesAndJacobian, free_states, simulated
from polhode.support.extras import needed
from polhode.torques import Torque

jax: Any = needed("jax", "polhode.jax needs")
jnp: Any = needed("jax.numpy", "polhode.jax needs")

__all__ = ["free_flow", "simulate"]


def _differentiable(states: Callable[..., StatesAndJacobian], rows: tuple[int, ...]) -> Callable[..., Any]:
    """A function of arrays that has derivatives: (rotation matrices, rates), in `rows` of states."""

    def called(arguments: Any, parts: int) -> Any:
        arguments = [jnp.asarray(x, dtype=float) for x in arguments]
        width = sum(x.size for x in arguments)
        kind = jnp.result_type(float)
        shapes = [jax.ShapeDtypeStruct((*rows, *s), kind) for s in ((3, 3), (3,), (6, width))[:parts]]

        def host(*given: Any) -> Any:
            return tuple(x.astype(kind) for x in states(*given, with_jacobian=parts == 3)[:parts])

        return jax.pure_callback(host, tuple(shapes), *arguments, vmap_method="broadcast_all")

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def moved(*arguments: Any) -> Any:
        return called(arguments, 2)

    @moved.defjvp  # type: ignore[untyped-decorator]
    def _(primals: Any, tangents: Any) -> Any:
        R, w, J = called(primals, 3)
        change = J @ jnp.concatenate([jnp.ravel(jnp.asarray(x, dtype=float)) for x in tangents])
        return (R, w), (jnp.cross(change[..., None, :3], jnp.swapaxes(R, -1, -2)).swapaxes(-1, -2), change[..., 3:])

    return moved  # type: ignore[no-any-return]


def free_flow(inertia: Any, omega: Any, t: Any) -> Any:
    """The exact motion of a free body: (rotation matrix, angular velocity), differentiable by all arguments.

    Parameters
    ----------
    inertia
        Principal moments (3,), or the tensor (3, 3), whose gradient is symmetric; kg m^2.
    omega
        Angular velocity at the start in body axes, rad/s.
    t
        Time since the start, s. At the start the axes of body and space coincide.
    """
    states = partial(free_states, full=jnp.ndim(inertia) == 2)
    return _differentiable(states, ())(*(jnp.asarray(x, dtype=float) for x in (inertia, omega, t)))


def simulate(
    body: Body, torque: Torque | None = None, *, omega: Any, attitude: Any = None, p: Any = None, t: Any, **how: Any
) -> Any:  # fmt: skip
    """A torqued motion from t = 0 on: (rotation matrices, rates), differentiable by omega, attitude and p.

    Parameters
    ----------
    body, torque
        As `polhode.simulate` takes them.
    omega, attitude
        At the start: the angular velocity in body axes, rad/s, and a quaternion, scalar first.
    p
        The parameters of a torque that `polhode.torque` made.
    t
        The times, s; plain numbers.
    how
        Method and step, or rtol, as `polhode.simulate` takes them.
    """
    named = {k: x for k, x in (("omega", omega), ("attitude", attitude), ("p", p)) if x is not None}
    states = simulated(body, torque, t, how, tuple(named))
    return _differentiable(states, (len(t),))(*(jnp.asarray(x, dtype=float) for x in named.values()))
