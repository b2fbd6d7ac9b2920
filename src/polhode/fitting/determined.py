"""Which parameters the data determine, which they do not, and how to say it."""

from dataclasses import dataclass

import numpy as np

from polhode.fitting.parameters import Block, Parameters, Trial
from polhode.support.arrays import Floats

NO_INFLUENCE = 1e-7
"""Singular values below this, relative to the largest, are taken for zero: differences are good to about 1e-8."""
UNKNOWN = 1.0
"""A direction whose standard error is larger than its natural size is not determined: a factor of e, a radian."""
NEGLIGIBLE = 0.02
"""Components of an undetermined direction below this are left out of its description."""


@dataclass(frozen=True, eq=False)
class Split:
    """The directions of x that data determine, and the others."""

    basis: Floats
    """Columns span the directions that are determined."""
    null: Floats
    """Columns are the other directions, in natural sizes, orthonormal."""
    errors: Floats
    """The standard errors of the latter in natural sizes; infinite: they have no influence at all."""
    scales: Floats
    """The natural sizes of x; where none is known, that at which the data notice a change."""


@dataclass(frozen=True, eq=False)
class Undetermined:
    """Something that the data do not determine, and that was kept as it is in the guess."""

    text: str
    """What it is, in words."""
    names: tuple[str, ...]
    """The parameters that it is made of."""
    direction: Floats
    """The change of all parameters, in their units, that the data do not notice; the largest component is one."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<undetermined: {self.text}>"


def split_directions(jacobian: Floats, scales: Floats) -> Split:
    """Splits the directions of x by the singular values of the Jacobian, whose rows are in standard deviations."""
    norms = np.linalg.norm(jacobian, axis=0)
    largest = norms.max(initial=0.0)
    noticed = np.where(norms > NO_INFLUENCE * largest, norms, 1.0)
    known = np.isfinite(scales) & (scales > 0.0)
    # Without a natural size, the size at which the change is seen: such a direction can have no influence at most.
    natural = np.where(known, scales, 1e3 / noticed)
    triangle = np.linalg.qr(jacobian * natural, mode="r") if len(jacobian) > len(scales) else jacobian * natural
    _, s, vt = np.linalg.svd(triangle, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(scales) - s.size)]) if s.size < len(scales) else s[: len(scales)]
    good = (s > NO_INFLUENCE * s.max(initial=0.0)) & (s >= 1.0 / UNKNOWN)
    no_influence = s <= NO_INFLUENCE * s.max(initial=0.0)
    with np.errstate(divide="ignore"):
        errors = np.where(no_influence, np.inf, 1.0 / s)
    null = vt[~good].T
    # x moves where the natural changes are orthogonal to the undetermined ones, so these stay as in the guess.
    return Split(natural[:, None] * vt[good].T, null, errors[~good], natural)


def undetermined(directions: Split, parameters: Parameters, trial: Trial, *, is_free: bool) -> list[Undetermined]:
    """Describes what is not determined, block by block as far as it can be told apart."""
    found: list[Undetermined] = []
    null, errors = directions.null, directions.errors
    if null.shape[1] == 0:
        return found
    slopes = parameters.slopes(trial)
    for block, place in parameters.slices():
        own, null, errors = _inside(null, errors, place)
        if own.shape[1]:
            found += _of_block(block, place, own, directions, parameters, slopes, trial, is_free)
    for k in range(null.shape[1]):
        found.append(_of_several(null[:, k], float(errors[k]), directions, parameters, slopes, trial))
    return found


def _inside(null: Floats, errors: Floats, place: slice) -> tuple[Floats, Floats, Floats]:
    """Splits undetermined directions into those within a block and the rest."""
    if null.shape[1] == 0:
        return null, null, errors
    outside = np.delete(null, np.r_[place], axis=0)
    if outside.size == 0:
        return null, null[:, :0], errors[:0]
    _, s, vt = np.linalg.svd(outside, full_matrices=True)
    s = np.concatenate([s, np.zeros(vt.shape[0] - s.size)])
    inside = s < NEGLIGIBLE
    kept = np.sqrt((vt[~inside] ** 2) @ np.where(np.isfinite(errors), errors, 1e30) ** 2) if (~inside).any() else s[:0]
    return null @ vt[inside].T, null @ vt[~inside].T, np.where(kept > 1e20, np.inf, kept)


def _of_block(
    block: Block, place: slice, own: Floats, directions: Split, parameters: Parameters, slopes: Floats, trial: Trial,
    is_free: bool,
) -> list[Undetermined]:  # fmt: skip
    whole = own.shape[1] == block.size
    listed = ", ".join(block.names)
    made = []
    if block.kind in ("moments", "inertia"):
        even = np.zeros(len(own))
        even[place][:3] = np.sqrt(1.0 / 3.0)
        inside = own.T @ even
        if float(inside @ inside) > 1.0 - NEGLIGIBLE:  # the scale is one of these directions, or made of them
            why = "a free motion depends on their ratios only" if is_free else "the motion depends on their ratios only"
            kept = "determinant" if block.kind == "inertia" else "geometric mean"
            what = "inertia" if block.kind == "inertia" else "moments"
            text = f"the scale of the {what} ({listed}): {why}, so the {kept} of the guess was kept"
            made.append(_made(text, block.names, even, directions, slopes))
            others = np.linalg.svd(inside[None, :], full_matrices=True)[2][1:]
            own = own @ others.T
    if block.is_inertia and own.shape[1] >= 2 and made:
        text = f"the ratios of {listed}: these data hardly depend on them, so those of the guess were kept"
        return [*made, _made(text, block.names, own[:, 0], directions, slopes)]
    if whole and block.kind == "attitude":
        text = f"the attitude ({listed}): these data do not depend on it, so the guess was kept"
        return [_made(text, block.names, own[:, 0], directions, slopes)]
    if whole:
        text = f"{listed}: these data do not depend on {'them' if block.size > 1 else 'it'} beyond their noise"
        return [_made(f"{text}, so the guess was kept", block.names, own[:, 0], directions, slopes)]
    for k in range(own.shape[1]):
        v = own[place, k]
        if block.kind in ("attitude", "axes"):
            what = "the attitude" if block.kind == "attitude" else "the principal axes"
            frame = "space" if block.kind == "attitude" else "body"
            text = f"the turn of {what} about ({_vector(v)}) in {frame} axes: the guess was kept"
            made.append(_made(text, block.names, own[:, k], directions, slopes))
        else:
            made.append(_of_several(own[:, k], np.inf, directions, parameters, slopes, trial))
    return made


def _of_several(
    v: Floats, error: float, directions: Split, parameters: Parameters, slopes: Floats, trial: Trial
) -> Undetermined:
    """Describes a direction over several blocks, or a part of one."""
    names = [name for name, x in zip(parameters.names, v, strict=True) if abs(x) > NEGLIGIBLE]
    moves, values = slopes @ (directions.scales * v), parameters.values(trial)
    kinds = {name: block for block, _ in parameters.slices() for name in block.names}
    if len(names) > 1 and all(kinds[name].is_inertia or kinds[name].kind == "torque" for name in names):
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.array([
                move / value for name, move, value in zip(parameters.names, moves, values, strict=True) if name in names
            ])  # fmt: skip
        if np.isfinite(factors).all() and np.ptp(factors) < 0.05 * np.abs(factors).max():
            text = f"a common factor of {', '.join(names)}: only their ratios show, so the factor of the guess was kept"
            return _made(text, tuple(names), v, directions, slopes)
    terms = " ".join(
        f"{'+' if x > 0 else '-'} {abs(x):.2f} {name}"
        for name, x in zip(parameters.names, v, strict=True) if abs(x) > NEGLIGIBLE
    )  # fmt: skip
    terms = terms.removeprefix("+ ")
    size = "" if not np.isfinite(error) else f", of which the standard error would be {error:.2g}"
    alone = len(names) == 1
    text = f"{names[0] if alone else f'the combination {terms} (in natural sizes)'}{size}: the search left it as it was"
    return _made(text, tuple(names), v, directions, slopes)


def _made(text: str, names: tuple[str, ...], v: Floats, directions: Split, slopes: Floats) -> Undetermined:
    change = slopes @ (directions.scales * v)
    return Undetermined(text, names, change / change[np.argmax(np.abs(change))])


def _vector(v: Floats) -> str:
    v = v / np.linalg.norm(v)
    v = v * np.sign(v[np.argmax(np.abs(v))])
    return ", ".join(f"{x:.3g}" if abs(x) > 1e-3 else "0" for x in v)
