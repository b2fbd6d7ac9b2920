"""Motions that PyTorch differentiates: `backward`, `torch.func.grad`, `jvp`, `vjp` and `vmap` work, with exact values.

Import it as `import polhode.torch`, with `pip install 'polhode[torch]'`. States and Jacobians come from one call of
polhode, in double precision and on the CPU; tensors of other kinds are converted, and so are the results. First
derivatives only: a Jacobian is not differentiated once more.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from polhode.body import Body
from polhode.gradients import StatesAndJacobian, free_states, simulated
from polhode.support.extras import needed
from polhode.torques import Torque

torch: Any = needed("torch", "polhode.torch needs")

__all__ = ["free_flow", "simulate"]


class _Motion(torch.autograd.Function):  # type: ignore[misc]
    """(Rotation matrices, rates, Jacobian) of tensors; `states` and the dimensions of each argument come first."""

    generate_vmap_rule = False

    @staticmethod
    def forward(states: Callable[..., StatesAndJacobian], dims: tuple[int, ...], *given: Any) -> Any:
        """Computes them."""
        found = states(*(x.detach().cpu().double().numpy() for x in given))
        return tuple(torch.as_tensor(x).to(given[0]) for x in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps what derivatives are made of."""
        ctx.dims, ctx.sizes = inputs[1], [x.shape for x in inputs[2:]]
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(output[0], output[2])
        ctx.save_for_forward(output[0], output[2])

    @staticmethod
    def backward(ctx: Any, matrix: Any, omega: Any, _: Any) -> Any:
        """J^T times the gradients; that by the matrix, as a torque on its columns."""
        R, J = ctx.saved_tensors
        turned = torch.linalg.cross(R, matrix, dim=-2).sum(-1)
        found, first, out = (torch.cat([turned, omega], -1)[..., None, :] @ J)[..., 0, :], 0, [None, None]
        for size, dims in zip(ctx.sizes, ctx.dims, strict=True):
            count = size[len(size) - dims :].numel()
            part = found[..., first : first + count]
            lead = size[: len(size) - dims]
            out.append(part.reshape(*lead, -1, count).sum(-2).reshape(size))
            first += count
        return tuple(out)

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        """J times the changes."""
        R, J = ctx.saved_tensors
        flat = []
        for change, size, dims in zip(changes[2:], ctx.sizes, ctx.dims, strict=True):
            count = size[len(size) - dims :].numel()
            lead = size[: len(size) - dims]
            x = torch.zeros((*lead, count)).to(R) if change is None else change.reshape(*lead, count)
            flat.append(x.reshape(*lead, *(1,) * (J.dim() - 2 - len(lead)), count).expand(*J.shape[:-2], count))
        d = (J @ torch.cat(flat, -1)[..., None])[..., 0]
        return torch.linalg.cross(d[..., :3, None].expand_as(R), R, dim=-2), d[..., 3:], None

    @staticmethod
    def vmap(info: Any, in_dims: Any, states: Any, dims: Any, *given: Any) -> Any:
        """All of a batch in one call: leading dimensions are those of batches."""
        moved = [
            x[None].expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(given, in_dims[2:], strict=True)
        ]
        return _Motion.apply(states, dims, *moved), (0, 0, 0)


def _tensors(*given: Any) -> list[Any]:
    """Tensors of one kind, that of the first which is one."""
    known = next((x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()), None)
    kind = {"dtype": torch.get_default_dtype()} if known is None else {"dtype": known.dtype, "device": known.device}
    return [torch.as_tensor(x, **kind) for x in given]


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
    body, w, time = _tensors(inertia, omega, t)
    full = body.dim() == 2
    return _Motion.apply(partial(free_states, full=full), (1 + full, 1, 0), body, w, time)[:2]


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
    return _Motion.apply(states, (1,) * len(named), *_tensors(*named.values()))[:2]
