"""Parts that spin inside a body about an axis fixed in it: wheels and rings.

The momentum of such a part along its axis is h = J (s + a . w), with the unit vector a, the spin inertia J and the
speed s relative to the body. It is what a torque carries: the torque u on the part, along the axis, is all that changes
it, h' = u. The momentum of everything is I w + sum a h, where I is the tensor of the whole body with all parts locked,
less J a a^T for each of them (hughes1986). That is the body that a simulation is given: no further
term depends on how fast it is accelerated, so that any other torques may be added.
"""

from collections.abc import Sequence

import numpy as np

from polhode.body import Body
from polhode.kernels.types import Vec3
from polhode.support.arrays import Floats


def spin_momentum(axes: Sequence[Vec3], momenta: Floats) -> Floats:
    """Sum a h, in body axes, for one row of momenta or a stack of them."""
    total = np.zeros((*momenta.shape[:-1], 3))
    for i, axis in enumerate(axes):
        total += momenta[..., i, None] * np.array(axis)
    return total


def spin_energy(inertias: Sequence[float], momenta: Floats) -> Floats:
    """Sum h^2 / 2J, in J, for one row of momenta or a stack of them."""
    return np.asarray((momenta**2 / (2.0 * np.array(inertias))).sum(axis=-1))


def spin_tensor(axes: Sequence[Vec3], inertias: Sequence[float]) -> Floats:
    """Sum J a a^T."""
    a = np.array(axes)
    return np.asarray(a.T @ (np.array(inertias)[:, None] * a))


def without_spin(body: Body, axes: Sequence[Vec3], inertias: Sequence[float]) -> Body:
    """The body without the spin inertias of its parts, from the one in which they are locked."""
    tensors, spins = body.at_knots(), spin_tensor(axes, inertias)
    for i, (axis, inertia) in enumerate(zip(axes, inertias, strict=True)):
        a = np.array(axis)
        whole = float((tensors @ a @ a).min())
        if inertia >= whole:
            raise ValueError(
                f"the spin inertia {inertia:g} kg m^2 of number {i + 1} is not below the moment {whole:g} kg m^2 of "
                "the whole body about the same axis, of which it is a part"
            )
    least = float(np.linalg.eigvalsh(tensors - spins).min())
    if least <= 0.0:
        raise ValueError(
            f"without the spin inertias {', '.join(f'{x:g}' for x in inertias)} kg m^2 the body would have the moment "
            f"{least:g} kg m^2: the tensor must be that of the whole body, with its wheels locked"
        )
    return body.plus(-spins, allow_unphysical=not body.physical)


def check_whole(body: Body, axes: Sequence[Vec3], inertias: Sequence[float]) -> None:
    """Raises ValueError if no body that is larger than its parts looks like this."""
    whole = body.plus(spin_tensor(axes, inertias), allow_unphysical=True)
    if body.physical and not whole.physical:
        listed = ", ".join(f"{x:g}" for x in inertias)
        raise ValueError(
            f"the spin inertias {listed} kg m^2 are too large for this body: with them its moments would be "
            f"{', '.join(f'{x:.6g}' for x in whole.moments)}, and no body has a moment greater than the sum of the "
            "other two. Are they in kg m^2?"
        )
