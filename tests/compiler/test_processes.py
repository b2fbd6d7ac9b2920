"""What is compiled once is found by every later process, and never by one that it does not belong to."""

import shutil
import textwrap
from pathlib import Path

import pytest

import polhode
from polhode.compiler import programs
from tests.compiler.fresh import REPORT, Fresh

TORQUES = """
import numpy as np
import polhode as ph

def spring(t, q, w, p):
    return (-p[0] * q[1], -p[0] * q[2], -p[0] * q[3])

def drag(k):
    return lambda t, q, w, p: (-k * w[0], -k * w[1], -k * w[2])

def ends(*torques):
    runs = [
        ph.simulate(ph.Body([1, 2, 2.5]), torque, omega=[1, 2, 3], t_span=(0, 0.5), step=0.05, method="RK4")
        for torque in torques
    ]
    return [s.momentum[-1].tobytes().hex() for s in runs]
"""
RUN = """
found = ends(
    ph.HeavyTop(2.0),
    ph.torque(spring, parameters=[0.7]),
    ph.torque(drag(0.1)),
    ph.torque(drag(0.2)),
)
report(ends=found)
"""


def test_later_processes_compile_nothing(fresh: Fresh) -> None:
    fresh.write("script.py", REPORT + TORQUES + RUN)
    cold = fresh.script("script.py")
    assert cold["compilations"] == 5  # RK4, and four torques
    assert len(set(cold["ends"])) == 4
    warm = {"ends": cold["ends"], "compilations": 0, "numba": False}
    assert fresh.script("script.py") == warm
    assert fresh.code(TORQUES + RUN) == warm  # no file to read the source from: a notebook's situation
    assert fresh.stdin(TORQUES + RUN) == warm
    fresh.write("module.py", TORQUES)
    assert fresh.code("from module import *" + RUN) == warm
    assert not (fresh.directory / "home").exists()
    assert len(fresh.programs()) == 5


# --- edits -----------------------------------------------------------------------------------------------------------

SOURCES = {
    "kernel.py": """
        import math
        import numpy as np
        import helpers
        import package.inner
        from helpers import near
        G = 9.81
        PAIR = (1.0, 2.0)
        TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])
        STRIDED = np.arange(6.0)[::2]
        def make(c):
            def scaled(x):
                return x * c
            return scaled
        scaled = make(3.0)
        def offset(x, k=5.0):
            return x + k
        def unrelated(x):
            return x - 1.0
        def kernel(x, n):
            y = scaled(x[0]) + G + PAIR[1] * TABLE[1, 0] + STRIDED[2] * 7.0
            x[0] = math.sin(offset(y)) + near(y) + helpers.far(y) + package.inner.deep.value * y
            return 0
        """,
    "helpers.py": """
        from package.inner import twice
        def near(x):
            return 2.0 * twice(x)
        def far(x):
            return x / 3.0
        """,
    "package/__init__.py": "",
    "package/inner.py": """
        from package import deep
        def twice(x):
            return x + x
        """,
    "package/deep.py": "value = 0.25\n",
}
EDITS = {
    "the kernel": ("kernel.py", "math.sin(", "math.cos("),
    "a closed-over constant": ("kernel.py", "make(3.0)", "make(3.5)"),
    "a global number": ("kernel.py", "9.81", "1.62"),
    "a global tuple": ("kernel.py", "(1.0, 2.0)", "(1.0, 2.5)"),
    "a global array": ("kernel.py", "[3.0, 4.0]", "[3.5, 4.0]"),
    "a strided array": ("kernel.py", "np.arange(6.0)", "np.arange(1.0, 7.0)"),
    "a default": ("kernel.py", "k=5.0", "k=5.5"),
    "a helper elsewhere": ("helpers.py", "return 2.0 *", "return 2.5 *"),
    "a helper by its module": ("helpers.py", "x / 3.0", "x / 3.5"),
    "a helper of a helper": ("package/inner.py", "x + x", "x + x + 1.0"),
    "a module's attribute": ("package/deep.py", "0.25", "0.75"),
}
NO_EDITS = {
    "nothing": ("kernel.py", "", ""),
    "a comment": ("kernel.py", "def kernel(x, n):", "# said\n\n\ndef kernel(x, n):  # more\n"),
    "an unrelated function": ("kernel.py", "x - 1.0", "x - 2.0"),
    "an unrelated name": ("helpers.py", "def near", "UNUSED = 1.0\ndef near"),
}
TRY = """
import importlib, sys
import numpy as np
from polhode.compiler import program
results = {}
for variant in sys.argv[1:]:
    for name in ("kernel", "helpers", "package", "package.inner", "package.deep"):
        sys.modules.pop(name, None)
    sys.path[0] = variant
    importlib.invalidate_caches()
    kernel = importlib.import_module("kernel").kernel
    before = _programs.compilations
    x, y = np.array([0.3]), np.array([0.3])
    program(kernel, "pi")(x, 1)
    kernel(y, 1)
    results[variant] = [_programs.compilations - before, "numba" in sys.modules, bool(abs(x[0] - y[0]) < 1e-13), x[0]]
report(results=results)
"""


def test_edits(fresh: Fresh) -> None:
    variants = {}
    for label, (file, old, new) in {**NO_EDITS, **EDITS}.items():
        folder = label.replace(" ", "_")
        (fresh.directory / folder / "package").mkdir(parents=True)
        for source, text in SOURCES.items():
            text = textwrap.dedent(text)
            assert file != source or old in text
            (fresh.directory / folder / source).write_text(text.replace(old, new, 1) if file == source else text)
        variants[label] = str(fresh.directory / folder)
    fresh.write("try.py", REPORT + TRY)
    cold = fresh.script("try.py", variants["nothing"])
    assert cold["compilations"] == 1

    found = fresh.script("try.py", *variants.values())["results"]
    base = cold["results"][variants["nothing"]][3]
    for label in NO_EDITS:
        assert found[variants[label]] == [0, False, True, base], label
    ends = set()
    for label in EDITS:
        compiled, _, right, end = found[variants[label]]
        assert compiled == 1, label
        assert right, label
        ends.add(end)
    assert len(ends | {base}) == len(EDITS) + 1


# --- programs of one name --------------------------------------------------------------------------------------------

SAME = """
import math
import threading
import numpy as np
from polhode.compiler import program

def make(c):  # two functions of one name and signature for every constant
    def big(x):
        s = 0.0
        for i in range(3):
            s += math.sin(x + i * c) * math.cos(x - i * c) + math.exp(-x * x * c)
        return s + c * 1000
    def step(x):
        return big(x) + big(x + 1) * big(x + 2)
    def kernel(x, n):
        for i in range(n):
            x[i] = step(x[i])
        return 0
    return kernel

def wrong(constants):
    found = {}
    def one(c):
        kernel, x, y = make(c), np.linspace(0.1, 0.9, 5), np.linspace(0.1, 0.9, 5)
        program(kernel, "pi")(x, 5)
        kernel(y, 5)
        found[c] = float(np.abs(x / y - 1).max())
    threads = [threading.Thread(target=one, args=(c,)) for c in constants]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return {c: error for c, error in found.items() if not error < 1e-14} if len(found) == len(constants) else "lost"
"""


def test_programs_of_one_name_never_mix(fresh: Fresh) -> None:
    for constants, compiled in (([2.0], 1), ([1.0, 2.0, 3.0, -0.5], 3), ([3.0, -0.5, 2.0, 1.0], 0)):
        found = fresh.code(SAME + f"report(wrong=wrong({constants}))")
        assert found["wrong"] == {}
        assert found["compilations"] == compiled
    assert len(fresh.programs()) == 4


# --- accidents -------------------------------------------------------------------------------------------------------

TINY = """
import numpy as np
from polhode.compiler import program
def kernel(x, n):
    for i in range(n):
        x[i] = 2.0 * x[i] + 1.0
    return n
def right(kernel=kernel):
    x = np.arange(4.0)
    return program(kernel, "pi")(x, 4) == 4 and x.tolist() == [1.0, 3.0, 5.0, 7.0]
"""


def test_processes_at_once(fresh: Fresh) -> None:
    started = [fresh.start("-c", REPORT + TINY + "report(right=right())") for _ in range(3)]
    for process in started:
        assert fresh.finish(process)["right"]
    (program,) = fresh.programs()
    assert programs._read(program) is not None
    assert list(fresh.cache.iterdir()) == [program]  # nothing half written is left
    assert fresh.code(TINY + "report(right=right())") == {"right": True, "compilations": 0, "numba": False}


def test_only_the_cache_is_written_to(fresh: Fresh) -> None:
    """The package is copied, so that no other process writes there; bytecode is Python's own and is ignored."""
    site = fresh.directory / "site"
    shutil.copytree(Path(polhode.__file__).parent, site / "polhode", ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(fresh.directory.rglob("*"))
    found = fresh.code(
        TINY + "import polhode; report(right=right(), home=polhode.__file__)",
        PYTHONPATH=str(site),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert found["home"].startswith(str(site))
    assert found["right"]
    assert found["compilations"] == 1
    assert sorted(fresh.directory.rglob("*")) == sorted([*before, fresh.cache, *fresh.programs()])


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_no_directory_for_the_cache(fresh: Fresh, where: str) -> None:
    fresh.write("file", "in the way")
    found = fresh.code(TINY + "report(right=right())", POLHODE_CACHE_DIR=str(fresh.directory / where))
    assert found["right"]
    assert found["compilations"] == 1
    assert (fresh.directory / "file").read_text() == "in the way"


def test_no_home(fresh: Fresh) -> None:
    nobody = """
    import pwd
    def unknown(uid): raise KeyError(uid)
    pwd.getpwuid = unknown  # the user of a container that has no entry
    """
    found = fresh.code(
        textwrap.dedent(nobody)
        + TINY
        + "from polhode.compiler.programs import cache_directory\nreport(right=right(), directory=cache_directory())",
        POLHODE_CACHE_DIR=None,
        HOME=None,
    )
    assert found["directory"] is None
    assert found["right"]


def test_the_cache_vanishes_while_running(fresh: Fresh) -> None:
    found = fresh.code(
        TINY
        + """
import shutil, os
first = right()
shutil.rmtree(os.environ["POLHODE_CACHE_DIR"])
def again(x, n):
    for i in range(n):
        x[i] = 1.0 + 2.0 * x[i]
    return n
report(right=first and right() and right(again))
"""
    )
    assert found["right"]
    assert found["compilations"] == 2
    assert len(fresh.programs()) == 1


# --- what needs Numba's runtime --------------------------------------------------------------------------------------

ARRAYS = """
import numpy as np
from polhode.compiler import program
from polhode.kernels.ops import triple, view

def crossed(q, p):
    return np.cross(np.array([1.0, 2.0, 3.0]), np.array([p[0], q[1], q[2]]))
def multiplied(q, p):
    a = np.array(q[:3])
    return np.array(q[1:]) * np.dot(a, a)
def listed(q, p):
    return [p[1] * x for x in q[1:]]
def sliced(q, p):
    return p[:3] * q[0]

def put(x, k, v):
    x[k], x[k + 1], x[k + 2] = v
def kernel(values, x, n):
    p, q = view(values, n), (0.5, 0.1, -0.7, 0.5)
    put(x, 0, triple(crossed(q, p)))
    put(x, 3, triple(multiplied(q, p)))
    put(x, 6, triple(listed(q, p)))
    put(x, 9, triple(sliced(q, p)))
    return 0

values, x, y = np.array([0.7, 0.2, 0.3]), np.zeros(12), np.zeros(12)
for _ in range(1000):
    program(kernel, "ppi")(values, x, 3)
kernel(values, y, 3)
report(values=x.tobytes().hex(), error=float(np.abs(x - y).max()))
"""


def test_torques_that_make_arrays(fresh: Fresh) -> None:
    cold = fresh.code(ARRAYS)
    assert cold["compilations"] == 1
    assert cold["error"] < 1e-15  # numbers of size one
    warm = fresh.code(ARRAYS)
    assert warm == {**cold, "compilations": 0}  # Numba is imported: its runtime allocates


def test_large_arrays_are_never_kept(fresh: Fresh) -> None:
    """Numba leaves an array of more than a megabyte where it is: its address must not reach another process."""
    text = """
    import warnings
    import numpy as np
    from polhode.compiler import program
    LARGE = np.arange(200_000.0)
    def kernel(x, n):
        x[0] = LARGE[n]
        return 0
    def at(n):
        x = np.zeros(1)
        program(kernel, "pi")(x, n)
        return x[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = at(7)
        LARGE[7] = 0.5  # another content: another program
        second = at(7)
        LARGE = np.arange(200_000.0)  # as at first: the first program, which must not see the array as it is now
        third = at(7)
    report(values=[first, second, third], warned=[str(w.message) for w in caught])
    """
    for _ in range(2):
        found = fresh.code(text)
        assert found["values"] == [7.0, 0.5, 7.0]
        assert found["compilations"] == 2
        assert len(found["warned"]) == 2
        assert "more than a megabyte" in found["warned"][0]
    assert fresh.programs() == []


def test_large_arrays_of_loops_that_call_a_torque_by_its_address_are_never_kept(fresh: Fresh) -> None:
    """Such a loop has a file of its own."""
    text = """
    import numpy as np
    from polhode.compiler import program
    from polhode.kernels.ops import view
    from polhode.kernels.callback_torques import apart
    LARGE = np.arange(200_000.0)
    torque = apart(lambda t, q, w, p: (2.0 * t, w[0], p[0]))
    def looked_up(k):
        return LARGE[int(k)]
    def loop(x, n):
        x[0] = torque(x[0], (1.0, 0.0, 0.0, 0.0), (1.0, 2.0, 3.0), view(x, n))[0] + looked_up(x[1])
        return 0
    x = np.array([1.0, 199_999.0])
    program(loop, "pi")(x, 2)
    report(x=x[0])
    """
    for _ in range(2):
        assert fresh.code(text)["x"] == 200_001.0
