"""Lagrangian top: error of the momentum along its axis, with and without orthogonality

The projection of the spatial momentum R m on the axis R e3 of the top of figure 8, with NMB and the step 0.05: its
change, with an attitude matrix that is multiplied by the turn of every step, with one that is made orthogonal after
every step (by the nearest rotation, R (3 - R^T R) / 2), and with one from a quaternion of unit length. Below: how far
R^T R is from the identity. What is less than 1e-17, zero included, is drawn as 1e-17.
"""

import numpy as np

from polhode.kernels.algebra.quat import normalised
from polhode.kernels.types import Quat
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers._maps import Steps
from polhode.papers.krysl2004._tops import END, STEP, WEIGHT, lagrangian_top, largest
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

EPS = float(np.finfo(float).eps)
QUICK_SECONDS = 10.0
"""In s: the length of the runs at the quick size, instead of 100."""
KINDS = {"matrix": "matrix, multiplied", "orthogonal": "matrix, made orthogonal", "quaternion": "unit quaternion"}
WHERE = "figure 9 and section 3.3"


def run(size: Size) -> Data:
    """Runs the top with the attitude as a matrix, one that is made orthogonal, and a quaternion, step by step."""
    count = round((QUICK_SECONDS if size.quick else END) / STEP)
    kept = {kind: _followed(kind, count) for kind in KINDS}
    return Data(
        t=named("time", STEP * np.arange(1, count + 1), "time", "s"),
        kind=named("kind", list(KINDS), "what carries the attitude"),
        axial=named("kind time", [k[0] for k in kept.values()], "change of the axial momentum", "kg m2 s-1"),
        skew=named("kind time", [k[1] for k in kept.values()], "largest entry of R^T R - 1"),
        energy=named("kind time", [k[2] for k in kept.values()], "Hamiltonian", "J"),
    )


def _followed(kind: str, count: int) -> tuple[Floats, Floats, Floats]:
    """Returns, step by step, the change of pi . chi, the defect of orthogonality, and the Hamiltonian."""
    steps = Steps(lagrangian_top(), f"NMB(attitude={'quaternion' if kind == 'quaternion' else 'matrix'})")
    at, rows, momenta = steps.begun(steps.start), [], []
    for _ in range(count):
        at = steps.after(at, STEP)
        if kind == "orthogonal":
            at = at._replace(memory=(*at.memory[:3], *_orthogonal(at.memory[3:])))
        rows.append(_matrix(at.state.q) if kind == "quaternion" else at.memory[3:])
        momenta.append(at.state.m)
    R, m = np.array(rows).reshape(-1, 3, 3), np.array(momenta)
    axial = np.einsum("nij,nj,ni->n", R, m, R[:, :, 2])
    kinetic = (m**2 @ np.array(steps.body.inverse)) / 2
    skew = np.abs(np.einsum("nji,njk->nik", R, R) - np.eye(3)).max(axis=(1, 2))
    return axial - steps.start.m[2], skew, kinetic + WEIGHT * R[:, 2, 2]


def _orthogonal(rows: tuple[float, ...]) -> tuple[float, ...]:
    """The matrix nearly as it is, with R^T R - 1 squared: Newton's step to the nearest rotation."""
    R = np.reshape(rows, (3, 3))
    return tuple((R @ (1.5 * np.eye(3) - R.T @ R / 2)).ravel().tolist())


def _matrix(q: Quat) -> tuple[float, ...]:
    """The rotation of a quaternion, scaled to length 1, row by row."""
    w, x, y, z = normalised(q)
    return (
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    )  # fmt: skip


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the two sizes of error, and what they cause."""
    loose, tidy, unit = (largest(row) for row in data["axial"])
    skew = [largest(row) for row in data["skew"]]
    apart = largest(data["energy"][0] - data["energy"][1]) / abs(data["energy"][0, 0])
    return [
        claim(
            "With a matrix that is made orthogonal at every step, the axial momentum is kept to machine precision",
            paper="machine precision",
            measured=f"largest error {tidy:.1e} of 0.25 kg m²/s, {unit:.1e} with a quaternion of unit length; R^T R - 1"
            f" is {skew[1]:.1e}",
            holds=tidy < 20 * EPS,
            test="below 20 units of round-off (2.2e-16)",
        ),
        claim(
            "With matrices that are just multiplied, the error is larger",
            late=f"needs t = {END:g}",
            paper="larger",
            measured=f"largest error {loose:.1e}, {loose / tidy:.1f} times the other; R^T R - 1 is {skew[0]:.1e}",
            holds=loose > 3 * tidy,
            test="more than three times as large as with orthogonal matrices",
        ),
        claim(
            "That has hardly any effect on the motion",
            paper="hardly any",
            measured=f"the Hamiltonians differ by {apart:.1e} of their value at most",
            holds=apart < 1e-10,
            test="Hamiltonians equal to 1e-10, while the error of the method is some 1e-2",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws the errors of both on logarithmic axes."""
    figure, axes = panels(2, 1, width=7.0, height=6.2, sharex=True)
    for ax, name, ylabel in (
        (axes[0, 0], "axial", r"change of $\pi\cdot\chi$ (kg m²/s)"),
        (axes[1, 0], "skew", r"largest entry of $R^T R - 1$"),
    ):
        for k, (kind, row) in enumerate(zip(data["kind"], data[name], strict=True)):
            values = np.maximum(np.abs(row), 1e-17)
            ax.semilogy(data["t"], values, ".", markersize=2.5, color=COLOURS[k], label=KINDS[str(kind)])
        labelled(ax, "time (s)" if name == "skew" else "", ylabel, legend=False)
    axes[0, 0].legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, markerscale=4)
    return figure
