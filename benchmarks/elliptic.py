"""Elliptic functions beside SciPy's, on 100,000 pairs of u and m: `python -m benchmarks.elliptic`."""

import numpy as np
from scipy import special

from benchmarks.harness import interleave, table
from polhode import elliptic

COUNT = 100_000


def main() -> None:
    """Prints a table for each function that both libraries have."""
    rng = np.random.default_rng(1)
    m = rng.uniform(0, 1, COUNT)
    u, mc = rng.uniform(-10, 10, COUNT), 1 - m
    pairs = {
        "jacobi": (lambda: special.ellipj(u, m), lambda: elliptic.jacobi(u, mc)),
        "ellipk": (lambda: special.ellipkm1(mc), lambda: elliptic.ellipk(mc)),
        "ellipe": (lambda: special.ellipe(m), lambda: elliptic.ellipe(mc)),
        "ellipf": (lambda: special.ellipkinc(u, m), lambda: elliptic.ellipf(u, mc)),
        "ellipe_inc": (lambda: special.ellipeinc(u, m), lambda: elliptic.ellipe_inc(u, mc)),
    }
    for name, (theirs, ours) in pairs.items():
        print(table(name, interleave({"scipy": theirs, "polhode": ours}), per=COUNT, unit="value"), end="\n\n")
    alone = {
        "ellippi": lambda: elliptic.ellippi(0.5, u, mc),
        "ellippi_complete": lambda: elliptic.ellippi_complete(u, mc),
    }
    print(
        table(
            "the third kind, which SciPy has not", interleave({"jacobi": pairs["jacobi"][1], **alone}), COUNT, "value"
        )
    )


if __name__ == "__main__":
    main()
