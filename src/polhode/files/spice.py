"""Writing motions as SPICE kernels: attitudes (CK, type 3), with the clock (SCLK) and the frame (FK) that they need."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.files import nodes
from polhode.files.atomic import AnyPath, whole_file
from polhode.files.ccsds_write import WrittenFile, check_finite, epoch_of
from polhode.files.epochs import PS
from polhode.support import checks
from polhode.support.arrays import to_space
from polhode.support.extras import needed

if TYPE_CHECKING:
    from polhode.solution import Solution

TICKS = 1_000_000
"""Ticks of the clock in a second."""
J2000_PICOSECONDS = 43_200 * PS
"""The instant from which SPICE counts time: noon of 2000-01-01, TDB."""
FARTHEST_ID = 2_000_000
"""Numbers of spacecraft below minus this have no room for the number of a frame."""


def write_ck(
    solution: Solution, path: AnyPath, *, spacecraft_id: int, epoch: Any, time_system: str | None, frame: str,
    tolerance: float, overwrite: bool,
) -> WrittenFile:  # fmt: skip
    """Writes the kernels; see `Solution.to_ck`."""
    spiceypy = needed("spiceypy", "SPICE kernels need")
    if isinstance(spacecraft_id, bool) or not isinstance(spacecraft_id, int) or not -FARTHEST_ID < spacecraft_id < 0:
        raise ValueError(f"spacecraft_id must be a negative whole number above {-FARTHEST_ID}, not {spacecraft_id!r}")
    if not frame.isidentifier() or not frame.isascii() or len(frame) > 26:
        raise ValueError(f"frame must be a name of at most 26 letters, digits and _, not {frame!r}")
    target = Path(path)
    if target.suffix != ".bc":
        raise ValueError(f"{target} must end in .bc: the clock and the frame are written beside it, as .tsc and .tf")
    files = [target.with_suffix(".tsc"), target.with_suffix(".tf"), target]
    for file in files:
        if file.exists() and not overwrite:
            raise FileExistsError(f"{file} exists already: choose another name, or pass overwrite=True")
    start = epoch_of(solution, epoch, time_system).to("TDB")
    check_finite(solution)
    tolerance = checks.number("tolerance", tolerance, positive=True)
    segments = nodes.choose(solution, tolerance, linear=True, chords=False)
    times = [t for s in segments for t in s.picoseconds[:-1]] + segments[-1].picoseconds[
        -1:
    ]  # without those at breakpoints
    q = np.concatenate([s.quaternion[:-1] for s in segments] + [segments[-1].quaternion[-1:]])
    w = np.concatenate([s.omega[:-1] for s in segments] + [segments[-1].omega[-1:]])
    made = WrittenFile(
        len(times), 1, max(s.bound or 0.0 for s in segments), max(s.measured or 0.0 for s in segments)
    )  # fmt: skip
    ticks = np.array([(t - times[0]) * TICKS / PS for t in times])
    zero = (start.picoseconds + times[0] - J2000_PICOSECONDS) / PS
    notes = [
        f"Attitude of {frame} relative to J2000, by polhode.",
        "C-matrices turn components in J2000 into components in the body frame.",
        "Angular velocities are those of the body, with components in J2000, rad/s.",
        f"Type 3: the error of interpolation is at most {made.bound:.3g} rad,",
        f"the largest that was found between rows {made.measured:.3g} rad.",
        f"The clock {spacecraft_id} is zero at {start.shifted(times[0] / PS).text(9)} TDB.",
    ]
    with tempfile.TemporaryDirectory() as directory:
        draft = str(Path(directory) / "draft.bc")
        handle = spiceypy.ckopn(draft, "polhode", 4096)
        try:
            spiceypy.dafac(handle, notes)
            spiceypy.ckw03(
                handle, ticks[0], ticks[-1], 1000 * spacecraft_id, "J2000", True, "polhode", len(times), ticks,
                np.ascontiguousarray(q * [1.0, -1.0, -1.0, -1.0]), np.ascontiguousarray(to_space(q, w)), 1, ticks[:1],
            )  # fmt: skip
        finally:
            spiceypy.ckcls(handle)
        contents = [
            _clock(spacecraft_id, zero).encode(),
            _frame(spacecraft_id, frame).encode(),
            Path(draft).read_bytes(),
        ]
    with ExitStack() as all_or_none:  # none has its name before all are on the disk, and the CK has it last
        for file, content in reversed(list(zip(files, contents, strict=True))):
            opened = all_or_none.enter_context(whole_file(file, overwrite=overwrite))
            opened.write(content)
            opened.flush()
    return made


def _clock(spacecraft: int, zero: float) -> str:
    """The kernel of a clock that counts TDB from a time on, in seconds from J2000."""
    n = -spacecraft
    return f"""KPL/SCLK

A clock that counts microseconds of TDB, written by polhode for the CK beside it.

\\begindata
SCLK_KERNEL_ID            = ( @2026-01-01 )
SCLK_DATA_TYPE_{n}        = ( 1 )
SCLK01_TIME_SYSTEM_{n}    = ( 1 )
SCLK01_N_FIELDS_{n}       = ( 2 )
SCLK01_MODULI_{n}         = ( 100000000000 {TICKS} )
SCLK01_OFFSETS_{n}        = ( 0 0 )
SCLK01_OUTPUT_DELIM_{n}   = ( 1 )
SCLK_PARTITION_START_{n}  = ( 0.0 )
SCLK_PARTITION_END_{n}    = ( 1.0E+17 )
SCLK01_COEFFICIENTS_{n}   = ( 0.0 {zero!r} 1.0 )
\\begintext
"""


def _frame(spacecraft: int, name: str) -> str:
    """The kernel of the body frame."""
    number = 1000 * spacecraft
    return f"""KPL/FK

The body axes of the CK beside it, written by polhode.

\\begindata
FRAME_{name} = {number}
FRAME_{number}_NAME = '{name}'
FRAME_{number}_CLASS = 3
FRAME_{number}_CLASS_ID = {number}
FRAME_{number}_CENTER = {spacecraft}
CK_{number}_SCLK = {spacecraft}
CK_{number}_SPK = {spacecraft}
\\begintext
"""
