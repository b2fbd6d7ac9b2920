"""Full disks, and files that were damaged: the cache of programs, and results."""

import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polhode.compiler import programs
from tests.compiler.fresh import REPORT
from tests.faults.signals import KERNEL, WARM
from tests.faults.trial import Bench, Tally, trial

# --- full disks ------------------------------------------------------------------------------------------------------

FULL = """
import os, random, resource, sys
import polhode as ph
chance, lost = random.Random(int(sys.argv[2])), []
body = ph.Body([1, 2, 2.5])
made = [ph.simulate(body, omega=[w, 2, 3], t_span=(0, 10), step=0.01, method="Exact") for w in (1, 2)]
made[0].save("full.nc")
size, hard = os.path.getsize("full.nc"), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for k in range(int(sys.argv[1])):
    wanted, room = made[k % 2], int(1.2 * size * chance.random())
    before = ph.load("full.nc").momentum.tobytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        wanted.save("full.nc", overwrite=True)
        whole = True
    except OSError as problem:
        whole = False
        if "full.nc" not in str(problem):
            lost.append(f"{room}: the message names no file: {problem}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    there = ph.load("full.nc").momentum.tobytes()
    if there != (wanted.momentum.tobytes() if whole else before):
        lost.append(f"{room}: another content")
    if whole != (room >= size):
        lost.append(f"{room}: saved {whole}")
    if sorted(os.listdir(".")) != names:
        names = sorted(os.listdir("."))
        lost.append(f"{room}: left {names}")
    wanted.save("full.nc", overwrite=True)
    if ph.load("full.nc").momentum.tobytes() != wanted.momentum.tobytes():
        lost.append(f"{room}: not saved afterwards")
report(lost=lost)
"""


@trial(
    "a disk that is full at any byte of a save",
    "the old file is whole, nothing is left beside it, and the next save succeeds",
    short=40, full=500,
)  # fmt: skip
def full_disks(bench: Bench, size: int, tally: Tally) -> None:
    inside = bench.folder / "disk"
    inside.mkdir()
    text = FULL.replace("size, hard =", "names = sorted(os.listdir('.'))\nsize, hard =")
    bench.fresh.write("full.py", REPORT + f"import os; os.chdir({str(inside)!r})" + text)
    found = bench.fresh.script("full.py", str(size), str(bench.chance.getrandbits(30)), **WARM)
    tally.add_all(found, size)


NO_ROOM = (
    KERNEL
    + """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
report(right=right())
"""
)


@trial(
    "a disk that is full while a program is kept",
    "the run is right, nothing damaged is kept, and nothing is left",
    short=0, full=15,
)  # fmt: skip
def full_caches(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("no_room.py", REPORT + NO_ROOM)
    for _ in range(size):
        shutil.rmtree(bench.fresh.cache, ignore_errors=True)
        room = int(8000 * bench.chance.random() ** 2)
        found = bench.fresh.script("no_room.py", str(room), PYTHONDONTWRITEBYTECODE="1")
        files = list(bench.fresh.cache.iterdir())
        held = all(f.suffix == ".code" and programs._read(f) is not None for f in files)
        tally.add(found["right"] and held, f"{room} bytes: {found}, {files}")


# --- damage ----------------------------------------------------------------------------------------------------------


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Returns the bytes with something wrong: flipped, cut, overwritten, doubled, moved or added."""
    size, made = len(whole), bytearray(whole)
    place = chance.randrange(size)
    length = min(size - place, 2 ** chance.randrange(1, 10))
    kind = chance.choice(["bit", "byte", "bytes", "cut", "zeros", "noise", "swap", "drop", "double", "add"])
    if kind == "bit":
        made[place] ^= 1 << chance.randrange(8)
    elif kind == "byte":
        made[place] = chance.randrange(256)
    elif kind == "bytes":
        for _ in range(chance.randrange(2, 20)):
            made[chance.randrange(size)] = chance.randrange(256)
    elif kind == "cut":
        del made[place:]
    elif kind == "zeros":
        made[place : place + length] = bytes(length)
    elif kind == "noise":
        made[place : place + length] = chance.randbytes(length)
    elif kind == "swap":
        other = chance.randrange(size - length + 1)
        made[place : place + length], made[other : other + length] = (
            made[other : other + length], made[place : place + length],
        )  # fmt: skip
    elif kind == "drop":
        del made[place : place + length]
    elif kind == "double":
        made[place:place] = made[place : place + length]
    else:
        made += chance.randbytes(length)
    return bytes(made)


@trial(
    "damaged files in the cache of programs",
    "they are not run",
    short=100, full=3000,
)  # fmt: skip
def damaged_programs(bench: Bench, size: int, tally: Tally) -> None:
    file = bench.folder / "program.code"
    programs._write(file, programs._Code("symbol", ("sin", "cos"), bench.chance.randbytes(6000)))
    whole = file.read_bytes()
    assert programs._read(file) is not None
    for _ in range(size):
        file.write_bytes(made := damaged(whole, bench.chance))
        tally.add(made == whole or programs._read(file) is None, f"{len(made)} of {len(whole)} bytes")


@trial("a damaged program in the cache of a new process", "it is compiled again, and is right", short=0, full=10)
def damaged_caches(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("compile.py", REPORT + KERNEL + "report(right=right())")
    bench.fresh.script("compile.py")
    (file,) = bench.fresh.programs()
    whole = file.read_bytes()
    for _ in range(size):
        file.write_bytes(damaged(whole, bench.chance))
        found = bench.fresh.script("compile.py")
        tally.add(found["right"] and programs._read(file) is not None, found)


def _rows(solution: Any) -> tuple[bytes, ...]:
    events = [x for e in solution.events for x in (e.t, e.quaternion, e.momentum)]
    last = (solution.last_quaternion, solution.last_momentum)
    return tuple(x.tobytes() for x in (solution.t, solution.quaternion, solution.momentum, *last, *events))


def _of_bodies(solution: Any) -> tuple[Any, ...]:
    problem, plan = solution.problem, solution.plan
    about = (problem.t_start, problem.t_end, plan.step, plan.method.name, solution.status, solution.t_last)
    return (*_rows(solution), problem.body.moments.tobytes(), *about)


def results(folder: Path) -> dict[Path, Any]:
    """Makes several files with results, and returns them with their contents."""
    import polhode as ph

    body = ph.Body([1.0, 2.0, 2.5])
    made = {
        "free": ph.simulate(body, omega=[1, 2, 3], t_span=(0, 2), step=0.1, method="Exact"),
        "top": ph.simulate(body, ph.HeavyTop(2.0), omega=[1, 2, 3], t_span=(0, 1), step=0.1, method="RK4"),
    }
    for name, solution in made.items():
        solution.save(folder / f"{name}.nc")
    return {folder / f"{name}.nc": solution for name, solution in made.items()}


@trial(
    "damaged result files",
    "`load` refuses them, or returns what was saved: never other numbers",
    short=100, full=5000,
)  # fmt: skip
def damaged_results(bench: Bench, size: int, tally: Tally) -> None:
    import polhode as ph

    for file, saved in results(bench.folder).items():
        whole, copy = file.read_bytes(), file.with_name("damaged.nc")
        for k in range(size // 2):
            copy.write_bytes(damaged(whole, bench.chance))
            tally.add(*_refused_or(copy, lambda path: _of_bodies(ph.load(path)) == _of_bodies(saved)))  # noqa: B023
            if k % 100 == 0:
                assert _of_bodies(ph.load(file)) == _of_bodies(saved)


def _refused_or(file: Path, holds: Callable[[Path], bool]) -> tuple[bool, str]:
    """Returns whether a file is refused in the proper way, or is what it should be, and what happened."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return holds(file), "other contents"
        except (ValueError, OSError) as problem:
            return str(file.name) in str(problem), f"the message does not name the file: {problem}"
        except Exception as problem:
            return False, f"{type(problem).__name__}: {problem}"


@trial("files of noise, as results", "`load` refuses them by name", short=50, full=1000)
def noise_as_results(bench: Bench, size: int, tally: Tally) -> None:
    import polhode as ph

    copy = bench.folder / "noise.nc"
    for _ in range(size):
        head = bench.chance.choice([b"", b"CDF\x01", b"CDF\x02", b"CDF\x02" + bytes(7) + b"\x0a", b"\x89HDF"])
        copy.write_bytes(head + bench.chance.randbytes(bench.chance.randrange(2000)))
        tally.add(*_refused_or(copy, lambda path: ph.load(path) is None))


@trial(
    "a cache that others can write to",
    "it is not used, a warning says so, and the run is right",
    short=0, full=6,
)  # fmt: skip
def open_caches(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("compile.py", REPORT + KERNEL + "report(right=right())")
    bench.fresh.script("compile.py")
    for k in range(size):
        bench.fresh.cache.chmod(mode := (0o777, 0o770, 0o720, 0o702, 0o757, 0o775)[k % 6])
        found = bench.fresh.script("compile.py", PYTHONWARNINGS="default")
        tally.add(found["right"] and found["compilations"] == 1, f"{mode:o}: {found}")
    bench.fresh.cache.chmod(0o700)
