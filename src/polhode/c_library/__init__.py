"""The exact motion of the free body as C99, made from the kernels: `polhode c-library`.

`write` puts a source, a header, a test, an example and a CMake file into a directory. They depend on the C library
alone. The functions of `polhode_free.c` up to its last section are translations of the kernels (`translate.py`), so
that they give the same bits; that last section, the header, the example and the test are the files beside this one.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from polhode import __version__
from polhode.body import Body
from polhode.c_library.translate import Translation
from polhode.files.atomic import whole_file
from polhode.free.free_motion import FreeMotion
from polhode.kernels.algebra.exact_fma import with_fused
from polhode.kernels.algebra.quat import tidied
from polhode.kernels.free.closed_form import MOTION, evaluate_rows, set_up_rows
from polhode.kernels.free.exact_flow import excess, finest
from polhode.kernels.steps.flows import MOST_PIECES, leaping, triaxial
from polhode.kernels.types import Inertia, State

FINEST = finest()
LONGEST = float(MOST_PIECES**2)
"""The `excess` from which on a step is made by the closed form."""
cut_flow = triaxial(FINEST)

FILES = ("polhode_free.h", "polhode_free.c", "test_polhode_free.c", "tumbling_nut.c", "CMakeLists.txt")
"""What `write` writes."""

EXAMPLES: Sequence[tuple[tuple[float, float, float], tuple[float, float, float]]] = (
    ((1.0, 2.0, 2.8), (0.005, 5.0, 0.0)),  # next to the separatrix
    ((1.0, 1.4, 2.1), (0.3, -0.2, 0.9)),
    ((1.0, 1.4, 2.1), (0.9, -0.2, 0.3)),
    ((2.0, 2.0, 0.5), (0.1, 0.4, 3.0)),  # symmetric
    ((1.0, 1.0, 1.0), (0.3, 0.4, 0.5)),
    ((3.0, 1.0, 3.5), (0.0, 0.0, 2.0)),  # steady
)
"""Moments and rates of the motions that the C test compares with polhode's own."""
TIMES = (0.0, 0.1, 7.0, -1234.5, 1e9)
STEP = 0.05
"""The step of the C test, in s."""


def step(body: Inertia, s: State, h: float) -> State:
    """The exact flow over a time of any length: pieces if it is short, the closed form if it is long."""
    long = excess(FINEST, body, s.m, h) > LONGEST
    # A free flow reads neither parameters nor the time.
    s = leaping(body, 0, 0.0, s, h) if long else cut_flow(body, 0, 0.0, s, h)  # type: ignore[arg-type]
    return State(tidied(s.q), s.m)


def source() -> str:
    """The text of `polhode_free.c`."""
    c = Translation()
    c.function(set_up_rows, ("double *", "double *", "int"))
    c.function(evaluate_rows, (*("double *",) * 5, "double", "int", "int"))
    c.function(step, (c.record(Inertia).name, c.record(State).name, "double"))
    head = f"/* The exact motion of a free rigid body: made by polhode {__version__} from its kernels, to the bit. */"
    headers = ("<float.h>", "<math.h>", "<stdlib.h>", "<string.h>", '"polhode_free.h"')
    includes = "".join(f"#include {name}\n" for name in headers)
    return f"{head}\n{includes}\n#define MOTION {MOTION}\n\n{c.text()}\n{_beside('public.c')}"


def expected() -> str:
    """The states of the C test, as polhode computes them in Python: C initialisers with all bits."""
    rows = []
    for moments, omega in EXAMPLES:
        s = State((1.0, 0.0, 0.0, 0.0), tuple(i * w for i, w in zip(moments, omega, strict=True)))  # type: ignore[arg-type]
        body = Inertia(moments, tuple(1.0 / i for i in moments))  # type: ignore[arg-type]
        stepped = with_fused(step)(body, s, STEP)
        states = [(t, *_state(moments, omega, t)) for t in TIMES]
        numbers = [*moments, *omega, *stepped.q, *stepped.m, *(x for row in states for x in row)]
        rows.append("    {" + ", ".join(float(x).hex() for x in numbers) + "},")
    return "\n".join(rows)


def _state(moments: Sequence[float], omega: Sequence[float], t: float) -> list[float]:
    """Attitude and rate of a free motion, with the bits of compiled code."""
    now = FreeMotion(Body(moments), omega).at(t)
    return [*now.quaternion, *now.omega]


def write(folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Writes the library to a directory, which is made if need be, and returns its files."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = source() if name == "polhode_free.c" else _beside(name)
        text = text.replace("@ROWS@", expected()) if "@ROWS@" in text else text
        with whole_file(place / name, overwrite=overwrite) as out:
            out.write(text.replace("@VERSION@", __version__).encode())
    return [place / name for name in FILES]


def _beside(name: str) -> str:
    """The text of a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")
