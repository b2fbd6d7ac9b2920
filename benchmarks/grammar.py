"""Whether error estimates hold under torques that a small grammar draws: `python -m benchmarks.grammar [COUNT]`.

A torque is a text of sums and products of the rate, of the attitude and of the time, with trigonometric and saturating
functions around them. polhode compiles that text as a user's function; heyoka integrates the same text by Taylor series
in 80-bit numbers, twice, and the distance of its two runs is the doubt of the truth. Nothing else is shared.

Problems have numbers, and their draws depend on these alone: results go line by line to build/grammar.jsonl, a run that
is stopped goes on where it was, and several may run at once (`--part 0/2`). Each has a checksum of the code that states
errors, so that the page can say whether that is still the code. With `--write` the counts go to
docs/evidence/accuracy.json, and the table of docs/evidence/accuracy.md is written anew. It needs heyoka.
"""

import argparse
import ast
import hashlib
import json
import linecache
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polhode as ph

Floats = NDArray[np.float64]
HERE = Path(__file__).parent.parent
RESULTS = HERE / "build" / "grammar.jsonl"
COUNTS, PAGE = HERE / "docs" / "evidence" / "accuracy.json", HERE / "docs" / "evidence" / "accuracy.md"
TABLE = re.compile(r"(?<=<!-- grammar -->\n).*?(?=<!-- end -->)", re.DOTALL)
STARTS = 100
"""The problems with one torque: other bodies, starts, parameters, spans and tolerances compile little."""
STATES_ERRORS = ("accuracy/*.py", "kernels/judge.py", "kernels/one_call.py")
"""The code that chooses methods and steps and states errors."""
PARAMETERS = 12
FUNCTIONS = ("sin", "cos", "tanh", "atan", "exp", "sqrt", "erf")
MOST_STEPS = 400_000
"""Steps of heyoka after which a problem is left out."""


# --- the grammar -----------------------------------------------------------------------------------------------------


class Grammar:
    """Draws the text of a torque.

    Its names: s is the time and u the rate, in units of the start's; x, y and z are the axes of space.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.used = rng, 0

    def one(self, *choices: Any) -> Any:
        """Returns one of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def number(self) -> str:
        """Returns a parameter, which is between a half and two, or minus that."""
        self.used = (self.used + 1) % PARAMETERS
        return f"p[{3 + self.used}]"

    def time(self) -> str:
        """Returns the time in radians of the start's rate, times a number."""
        return f"({self.number()} * s)"

    def rate(self) -> str:
        """Returns a component of the rate."""
        return f"u[{self.rng.integers(3)}]"

    def axis(self) -> str:
        """Returns a component of an axis."""
        return f"{self.one('x', 'y', 'z')}[{self.rng.integers(3)}]"

    def swing(self) -> str:
        """Returns an oscillation in time."""
        return f"{self.one('sin', 'cos')}({self.time()} + {self.number()})"

    def saturated(self, x: str) -> str:
        """Returns something that a number, however large, keeps between -1 and 1."""
        return str(self.one(f"tanh({x})", f"(0.6 * atan({x}))", f"(({x}) / sqrt(1.0 + ({x}) * ({x})))", f"erf({x})"))

    def rational(self, x: str) -> str:
        """Returns a fraction without a pole."""
        return f"(1.0 / (1.0 + ({x}) * ({x})))"

    def pulse(self) -> str:
        """Returns a pulse, or a switch that takes its time."""
        late = f"({self.number()} * (s - 6.0 * {self.number()}))"
        return str(self.one(f"exp(-{late} * {late})", f"(0.5 + 0.5 * tanh(3.0 * {late}))"))

    def sum(self, term: Callable[[], str], least: int = 1, most: int = 3) -> str:
        """Returns a sum of terms with numbers before them."""
        count = int(self.rng.integers(least, most + 1))
        return " + ".join(f"{self.number()} * {term()}" for _ in range(count))

    def product(self, *terms: Callable[[], str]) -> str:
        """Returns a product."""
        return " * ".join(term() for term in terms)

    def tree(self, depth: int) -> str:
        """Returns a text of any kind, bounded."""
        if depth == 0:
            return str(self.one(self.swing, self.axis, lambda: f"tanh({self.rate()})", self.axis)())
        a, b = self.tree(depth - 1), self.tree(depth - 1)
        wrap = self.one("sin", "cos", "saturated", "rational", "plain", "plain")
        inner = self.one(f"{a} * {b}", f"{self.number()} * {a} + {b}", f"({a}) * ({b})")
        if wrap == "plain":
            return f"({inner})"
        return getattr(self, wrap)(inner) if hasattr(self, wrap) else f"{wrap}({inner})"


Component = Callable[[Grammar, int], str]


def _damped(term: Callable[[Grammar], str]) -> Component:
    """Returns components with a term and a weak damping, which keeps rates bounded."""
    return lambda g, k: f"{term(g)} - 0.1 * u[{k}]"


FAMILIES: dict[str, tuple[Component, tuple[float, float], tuple[float, float]]] = {
    # the components, and the powers of ten of the torque ratio and of the radians
    "products of rates": (
        _damped(lambda g: g.saturated(g.sum(lambda: g.product(g.rate, g.rate)))), (-4, 0), (0.5, 1.7)
    ),
    "oscillations in time": (lambda g, k: g.sum(lambda: g.product(g.swing, g.swing)), (-5, 0), (0.5, 2.0)),
    "polynomials of the attitude": (lambda g, k: g.sum(lambda: g.product(g.axis, g.axis)), (-5, -0.3), (0.5, 1.7)),
    "attitude times oscillations": (lambda g, k: g.sum(lambda: g.product(g.axis, g.swing)), (-5, -0.3), (0.5, 1.8)),
    "rate times attitude": (
        _damped(lambda g: g.sum(lambda: f"{g.axis()} * {g.saturated(g.rate())}")), (-4, -0.3), (0.5, 1.7)
    ),
    "saturated sums": (
        lambda g, k: f"-{g.saturated(f'{g.sum(g.axis)} + 2.0 * u[{k}]')}", (-3, 0), (0.5, 1.7)
    ),
    "pulses and switches": (lambda g, k: g.sum(lambda: g.product(g.pulse, g.axis), 1, 2), (-4, 0), (0.7, 1.8)),
    "fractions": (
        lambda g, k: g.sum(lambda: f"{g.axis()} * {g.rational(g.sum(g.swing, 1, 2))}", 1, 2), (-5, -0.3), (0.5, 1.8)
    ),
    "weak and long": (lambda g, k: g.sum(lambda: g.one(g.axis, g.swing)()), (-8, -3), (1.5, 3.0)),
    "trees": (lambda g, k: g.tree(3), (-4, 0), (0.5, 1.7)),
}  # fmt: skip


def formula(family: str, number: int) -> tuple[str, str, str]:
    """Returns the three components of a torque as texts."""
    g = Grammar(np.random.default_rng([list(FAMILIES).index(family), number]))
    component = FAMILIES[family][0]
    return tuple(component(g, k) for k in range(3))  # type: ignore[return-value]


ENDS = {"x": "(1.0, 0.0, 0.0)", "y": "(0.0, 1.0, 0.0)", "z": "(0.0, 0.0, 1.0)"}


def for_polhode(texts: tuple[str, str, str]) -> Any:
    """Returns the torque as a user's function, which reads no more than it needs."""
    used = " ".join(texts)
    lines = [f"    {name} = to_body(q, {end})" for name, end in ENDS.items() if f"{name}[" in used]
    if "u[" in used:
        lines.append("    u = (p[1] * w[0], p[1] * w[1], p[1] * w[2])")
    if re.search(r"\bs\b", used):
        lines.append("    s = p[2] * t")
    components = ", ".join(f"p[0] * ({text})" for text in texts)
    names: dict[str, Any] = {name: getattr(math, name) for name in FUNCTIONS} | {"to_body": ph.to_body}
    source = "\n".join(["def torque(t, q, w, p):", *lines, f"    return ({components})"]) + "\n"
    file = f"<torque {hashlib.sha256(source.encode()).hexdigest()}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # as of a user's file
    exec(compile(source, file, "exec"), names)
    return names["torque"]


# --- problems --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One problem of a family."""

    tensor: Floats
    rotor: Floats
    p: Floats
    omega: Floats
    q: Floats
    t: tuple[float, float]
    times: Floats | None
    rtol: float


def question(family: str, number: int) -> Question:
    """Returns the problem with this number."""
    _, ratios, radians = FAMILIES[family]
    rng = np.random.default_rng([77, list(FAMILIES).index(family), number])

    def log(low: float, high: float) -> float:
        return float(10 ** rng.uniform(low, high))

    masses = rng.uniform(0.05, 1.0, size=3)
    kind = rng.integers(8)
    if kind == 0:
        masses[1] = masses[0]
    elif kind == 1:
        masses[1] = masses[0] * (1.0 + log(-9, -2))
    elif kind == 2:
        masses[2] *= 0.03
    elif kind == 3:
        masses[:2] *= 0.03
    moments = masses.sum() - masses
    unit = log(-4, 4) if rng.random() < 0.1 else 1.0
    tilt = np.eye(3)
    if rng.random() < 0.2:
        tilt, r = np.linalg.qr(rng.normal(size=(3, 3)))
        tilt = tilt * np.sign(np.diag(r))
    tensor = unit * (tilt @ np.diag(moments) @ tilt.T)
    tensor = 0.5 * (tensor + tensor.T)
    omega = rng.normal(size=3)
    speed = log(-0.5, 0.5) if rng.random() < 0.85 else log(-4, 4)
    near = rng.random()
    if near < 0.2:  # near an axis, the middle one most often
        order = np.argsort(moments)
        omega *= log(-6, -1)
        omega[order[1] if rng.random() < 0.7 else rng.integers(3)] = 1.0
    omega = tilt @ (omega * (speed / np.linalg.norm(omega)))
    rotor = np.zeros(3)
    if rng.random() < 0.12:
        rotor = tensor @ rng.normal(size=3) * speed * log(-2, 0.5)
        if rng.random() < 0.5:
            rotor *= np.eye(3)[rng.integers(3)]
    p = np.zeros(3 + PARAMETERS)
    p[0] = log(*ratios) * float(omega @ tensor @ omega) / 3.0
    p[1], p[2] = 1.0 / speed, speed
    p[3:] = rng.choice([-1.0, 1.0], PARAMETERS) * 2.0 ** rng.uniform(-1, 1, PARAMETERS)
    length = log(*radians) / speed
    t0 = 0.0 if rng.random() < 0.8 else rng.uniform(-10, 10) * length
    if rng.random() < 0.05:  # released at rest
        omega = np.zeros(3)
    t1 = t0 + length * (1.0 if rng.random() < 0.85 else -1.0)
    outputs = rng.integers(5)
    times: Floats | None = np.asarray(t0 + (t1 - t0) * np.arange(1, 9) / 8.0)
    if outputs == 0:
        times = np.array([t1])
    elif outputs == 1:
        inside = np.sort(rng.uniform(0, 1, int(rng.integers(2, 200))))
        times = np.asarray(t0 + (t1 - t0) * np.append(inside, 1.0))
    elif outputs == 2:
        times = None
    q = rng.normal(size=4)
    return Question(tensor, rotor, p, omega, q / np.linalg.norm(q), (t0, t1), times, log(-12, -3))


# --- the truth -------------------------------------------------------------------------------------------------------


def torque_of(texts: tuple[str, str, str], q: Any, w: Any, p: Any) -> list[Any]:
    """The torque in heyoka's symbols: of the quaternion, the rate and the parameters."""
    import heyoka as hy

    s, i, j, k = q
    axes = {
        "x": (s * s + i * i - j * j - k * k, 2.0 * (i * j - s * k), 2.0 * (i * k + s * j)),
        "y": (2.0 * (i * j + s * k), s * s - i * i + j * j - k * k, 2.0 * (j * k - s * i)),
        "z": (2.0 * (i * k - s * j), 2.0 * (j * k + s * i), s * s - i * i - j * j + k * k),
    }
    names = {name: getattr(hy, name) for name in FUNCTIONS} | axes
    names |= {"u": [p[1] * x for x in w], "s": p[2] * hy.time, "p": p}
    return [p[0] * eval(text, names) for text in texts]  # the texts are ours


class Truth:
    """The motions of one torque, by heyoka."""

    def __init__(self, texts: tuple[str, str, str]) -> None:
        import heyoka as hy

        q, m = hy.make_vars("q0", "q1", "q2", "q3"), hy.make_vars("m0", "m1", "m2")
        par = hy.par
        p = [par[k] for k in range(3 + PARAMETERS)]
        inverse = [par[3 + PARAMETERS + k] for k in range(6)]
        g = [par[9 + PARAMETERS + k] for k in range(3)]
        a, b, c = (m[k] - g[k] for k in range(3))
        w = (
            inverse[0] * a + inverse[1] * b + inverse[2] * c,
            inverse[1] * a + inverse[3] * b + inverse[4] * c,
            inverse[2] * a + inverse[4] * b + inverse[5] * c,
        )
        s, i, j, k = q
        n = torque_of(texts, q, w, p)
        slopes = [
            (q[0], -0.5 * (i * w[0] + j * w[1] + k * w[2])),
            (q[1], 0.5 * (s * w[0] + j * w[2] - k * w[1])),
            (q[2], 0.5 * (s * w[1] + k * w[0] - i * w[2])),
            (q[3], 0.5 * (s * w[2] + i * w[1] - j * w[0])),
            (m[0], m[1] * w[2] - m[2] * w[1] + n[0]),
            (m[1], m[2] * w[0] - m[0] * w[2] + n[1]),
            (m[2], m[0] * w[1] - m[1] * w[0] + n[2]),
        ]
        zero = [np.longdouble(0)] * 7
        self.runs = [
            hy.taylor_adaptive(
                slopes, zero, fp_type=np.longdouble, tol=np.longdouble(tol),
                pars=[np.longdouble(0)] * (12 + PARAMETERS), compact_mode=True,
            )
            for tol in (1e-19, 1e-16)
        ]  # fmt: skip

    def motion(self, a: Question, times: Floats) -> tuple[Any, Any, float]:
        """Returns quaternions and rates at times, and their doubt; raises ValueError where heyoka gives up."""
        inverse, found = _inverse(a.tensor.astype(np.longdouble)), []
        q = a.q.astype(np.longdouble)
        m = a.tensor.astype(np.longdouble) @ a.omega.astype(np.longdouble) + a.rotor
        upper = [inverse[0, 0], inverse[0, 1], inverse[0, 2], inverse[1, 1], inverse[1, 2], inverse[2, 2]]
        for run in self.runs:
            run.time, run.state[:] = np.longdouble(a.t[0]), np.concatenate([q / np.sqrt(q @ q), m])
            run.pars[:] = np.concatenate([a.p, upper, a.rotor])
            grid = times.astype(np.longdouble)
            begins = grid[0] == np.longdouble(a.t[0])
            grid = grid if begins else np.concatenate([[np.longdouble(a.t[0])], grid])
            outcome, *_, rows = run.propagate_grid(grid, max_steps=MOST_STEPS)
            if rows.shape[0] != grid.size or not np.isfinite(rows).all():
                raise ValueError(f"heyoka ends: {outcome}")
            found.append(rows if begins else rows[1:])
        (one, w1), (two, w2) = (_split(a, inverse, rows) for rows in found)
        doubt = _apart(one, w1, two, w2, a.omega)
        return one, w1, doubt


def _inverse(m: Any) -> Any:
    """Returns the inverse of a symmetric matrix by its cofactors."""
    c = np.array([np.cross(m[1], m[2]), np.cross(m[2], m[0]), np.cross(m[0], m[1])]).T
    return c / (m[0] @ c[:, 0])


def _split(a: Question, inverse: Any, rows: Any) -> tuple[Any, Any]:
    return rows[:, :4], (rows[:, 4:] - a.rotor) @ inverse


def _apart(q: Any, w: Any, p: Any, v: Any, start: Floats) -> float:
    """Returns the largest angle between attitudes, or difference of rates relative to the largest."""
    q, p = (x / np.sqrt((x * x).sum(axis=1, keepdims=True)) for x in (q, p))
    chord = np.minimum(((q - p) ** 2).sum(axis=1), ((q + p) ** 2).sum(axis=1)).max()
    largest = max(float((w * w).sum(axis=1).max()), float(start @ start)) ** 0.5
    rates = float(((w - v) ** 2).sum(axis=1).max()) ** 0.5
    return max(4.0 * math.asin(min(1.0, 0.5 * float(chord) ** 0.5)), rates / largest if largest > 0 else 0.0)


# --- one answer ------------------------------------------------------------------------------------------------------


def answered(family: str, number: int, torque: Any, truth: Truth) -> dict[str, Any]:
    """Returns what polhode stated of a problem, and what is true."""
    a = question(family, number)
    row: dict[str, Any] = {"family": family, "number": number, "rtol": a.rtol}
    clock = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            body = ph.Body(a.tensor if a.tensor[0, 1] else np.diag(a.tensor), rotor=a.rotor if a.rotor.any() else None)
            solution = ph.simulate(
                body, ph.torque(torque, parameters=a.p), omega=a.omega, attitude=a.q, t_span=a.t, t_eval=a.times,
                rtol=a.rtol,
            )  # fmt: skip
        except ph.SimulationFailed as problem:
            return {**row, "failed": str(problem)[:300]}
    row["seconds"] = round(time.process_time() - clock, 3)
    row["method"], row["estimate"] = solution.plan.method.name, solution.error_estimate
    row["warned"] = any(issubclass(w.category, ph.ToleranceNotReached) for w in said)
    row["other warnings"] = [str(w.message)[:200] for w in said if not issubclass(w.category, ph.ToleranceNotReached)]
    try:
        q, w, doubt = truth.motion(a, solution.t)
    except ValueError as problem:
        return {**row, "unknown": str(problem)}
    return {**row, "error": _apart(q, w, solution.quaternion, solution.omega, a.omega), "doubt": doubt}


def problems(count: int) -> Iterator[tuple[str, int]]:
    """Yields the families and the numbers of the problems, a torque of each family after the other."""
    each = -(-count // len(FAMILIES))
    for group in range(-(-each // STARTS)):
        for family in FAMILIES:
            for number in range(group * STARTS, min((group + 1) * STARTS, each)):
                yield family, number


def run(count: int, part: tuple[int, int], seconds: float, path: Path = RESULTS) -> None:
    """Answers the problems of a part that no run has answered yet, as far as the seconds go."""
    path.parent.mkdir(exist_ok=True)
    done = {(row["family"], row["number"]) for row in kept(path)}
    clock, key, torque, truth = time.monotonic(), ("", -1), None, None
    for family, number in problems(count):
        group = (family, number // STARTS)
        if (family, number) in done or (list(FAMILIES).index(family) + group[1]) % part[1] != part[0]:
            continue
        if time.monotonic() - clock > seconds:
            return
        if group != key or truth is None:
            texts = formula(*group)
            key, torque, truth = group, for_polhode(texts), Truth(texts)
        row = {**answered(family, number, torque, truth), "polhode": ph.__version__, "code": code()}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def kept(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Returns the results that are kept."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# --- the table -------------------------------------------------------------------------------------------------------


def is_known(row: dict[str, Any]) -> bool:
    """Whether the true error is known to a tenth of its estimate."""
    return "error" in row and row["doubt"] <= 0.1 * row["estimate"]


def counts(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the counts of each family, and over all."""
    found = {}
    for family in (*FAMILIES, "all"):
        of = [row for row in rows if family in (row["family"], "all")]
        known = [row for row in of if is_known(row)]
        ratios = np.array([row["estimate"] / max(row["error"], 1e-300) for row in known])
        if ratios.size:
            found[family] = {
                "drawn": len(of), "known": len(known), "hold": int((ratios >= 1).sum()),
                "least": float(ratios.min()), "median": float(np.median(ratios)),
                "unwarned": sum(row["error"] > row["rtol"] and not row["warned"] for row in known),
                "failed": sum("failed" in row for row in of),
            }  # fmt: skip
    return found


@lru_cache(maxsize=1)
def code() -> str:
    """Returns a checksum of the code that states errors, without its words."""
    found = hashlib.sha256()
    for pattern in STATES_ERRORS:
        for path in sorted(Path(ph.__file__).parent.glob(pattern)):
            tree = ast.parse(path.read_text("utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    said = [x for x in node.body if isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant)]
                    node.body = [x for x in node.body if x not in said]
            found.update(ast.dump(tree).encode())
    return found.hexdigest()[:16]


def table(found: dict[str, dict[str, Any]], counted: str) -> str:
    """Returns the counts as a table, and whether the code is still that with which they were `counted`."""
    head = ["| family | drawn | known | estimate holds | least | median | above its tolerance, unwarned | no answer |"]
    rule = ["|---|--:|--:|--:|--:|--:|--:|--:|"]
    lines = [
        f"| {family} | {c['drawn']:,} | {c['known']:,} | {c['hold']:,} | {c['least']:.2g} | {c['median']:.3g} | "
        f"{c['unwarned']} | {c['failed']} |"
        for family, c in found.items()
    ]
    told = "Counted with the code that states errors in this version."
    if counted != code():
        told = "Counted before the last changes of the code that states errors."
    return "\n".join([*head, *rule, *lines, "", told]) + "\n"


def write() -> None:
    """Writes the counts and the table: of results that are kept, or else of those that were counted before."""
    made = json.loads(COUNTS.read_text("utf-8"))
    if rows := kept():
        codes = {row.get("code", "") for row in rows}
        made = {"polhode": rows[-1]["polhode"], "code": min(codes), "families": counts(rows)}
        if len(codes) > 1:
            made["code"] = "several"
        COUNTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(made["families"], made["code"]), PAGE.read_text("utf-8")), "utf-8")


def main() -> None:
    """Parses, runs, and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=5000)
    parser.add_argument("--part", default="0/1", help="which of how many parts, as 0/2")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--write", action="store_true", help="write the page from the results that are kept, and end")
    asked = parser.parse_args()
    if not asked.write:
        k, n = (int(x) for x in asked.part.split("/"))
        run(asked.count, (k, n), asked.seconds)
    else:
        write()
    sys.stdout.write(table(counts(kept()), code()))


if __name__ == "__main__":
    main()
