"""From the measurements in bench/ to tables, plots, the documentation and the headline of the README.

python -m benchmarks report            # bench/tables.md, bench/*.png, bench/results.json
python -m benchmarks report --write    # and the same into docs/evidence/benchmarks*.md, docs/figures and README.md
"""

import argparse
import json
import math
import re
import shutil
import statistics
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import users
from benchmarks.map import AUTO, MINE, peers_of, ratio, spread
from benchmarks.page import described, markdown, page_of, put

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
Record = dict[str, Any]

WEAK, MEDIUM = 1e-5, 1e-2
"""Torques are weak up to the first, medium up to the second, strong beyond."""
AIMS = {"weak": 10.0, "medium": 6.0, "strong": 4.0}


def strength(eps: float) -> str:
    """Returns the strength of a torque in a word."""
    return "weak" if eps <= 1.5 * WEAK else "medium" if eps <= 1.5 * MEDIUM else "strong"


# --- the map -------------------------------------------------------------------------------------------------------


def loop_ratio(record: Record) -> float:
    """Returns the time of the quickest peer over that of polhode's compiled loop alone."""
    quickest = peers_of(record)[:1]
    if MINE not in record["entries"]:
        return math.nan
    return ratio(record, quickest[0], of="loop_seconds") if quickest else math.inf


def won(record: Record, to: str = MINE) -> float:
    """Returns the quickest peer over polhode, whole calls; infinite where no peer succeeds, NaN where polhode fails."""
    quickest = peers_of(record)[:1]
    if to not in record["entries"] or "median" not in record["entries"][to]:
        return math.nan
    return ratio(record, quickest[0], to) if quickest else math.inf


def number(x: float, digits: int = 2) -> str:
    """Returns a ratio as text; losses are bold."""
    if math.isnan(x):
        return "misses"
    if math.isinf(x):
        return "no peer"
    text = f"{x:.{digits}g}" if x < 100 else f"{x:.0f}"
    return f"**{text}**" if x < 1 else text


def with_spread(record: Record, to: str = MINE) -> str:
    """Returns the quickest peer over polhode, and between which ratios half of the rounds lie."""
    quickest = peers_of(record)[:1]
    low, high = spread(record, quickest[0], to) if quickest else (math.nan, math.nan)
    between = "" if math.isnan(low) else f" ({low:.2g} to {high:.2g})"
    return number(won(record, to)) + between


def short(told: str) -> str:
    """Returns the method alone."""
    name, _, options = re.sub(r", [^,]* rad$", "", told).partition("(")
    kept = [o for o in options.rstrip(")").split(", ") if o and not o.startswith(("rtol", "tolerance"))]
    return f"{name}({', '.join(kept)})" if kept else name


def map_tables(found: Record) -> str:
    """Returns ratios by body, eps and target: whole calls, compiled loops, and the automatic call."""
    records = found["records"]
    targets = sorted({r["target"] for r in records}, reverse=True)
    head = ["body", "eps", *(f"{t:.0e}" for t in targets)]

    def table(cell: Callable[[Record], str]) -> str:
        rows = [head]
        for body in dict.fromkeys(r["body"] for r in records):
            for eps in sorted({r["eps"] for r in records if r["body"] == body}):
                mine = {r["target"]: r for r in records if r["body"] == body and r["eps"] == eps}
                rows.append([body, f"{eps:.0e}", *(cell(mine[t]) if t in mine else "" for t in targets)])
        return markdown(rows)

    def called(r: Record) -> str:
        peer = peers_of(r)[:1]
        told = short(r["entries"][MINE]["told"]) if MINE in r["entries"] else ""
        beside = f", {peer[0]}" if peer and peer[0] != "heyoka" else ""
        return f"{with_spread(r)} {told}{beside}".strip()

    parts = [
        f"The quickest peer over polhode, whole calls, {found['angle']:g} radians (a tenth at eps = 1), median of "
        f"{found['rounds']} rounds, in brackets the quartiles of the rounds; "
        "the peer is heyoka unless named:",
        table(called),
        "The quickest peer over polhode's compiled loop, without what a call from Python costs:",
        table(lambda r: number(loop_ratio(r))),
        "The quickest peer over `simulate(rtol=...)`, which finds its step and estimates its error; in brackets the "
        "error achieved, as a part of that asked for:",
        table(lambda r: f"{number(won(r, AUTO))} ({r['auto']['error'] / r['target']:.1g})" if "auto" in r else "fails"),
        losses(records),
    ]
    return "\n\n".join(parts)


def losses(records: Sequence[Record]) -> str:
    """Returns where polhode is slower, and the medians by strength of the torque."""
    lost = [r for r in records if not won(r) >= 1]
    sentence = (
        f"polhode is slower than the quickest peer, or misses the error, at {len(lost)} of {len(records)} points."
        if lost
        else f"At none of the {len(records)} points is polhode slower. Measured beside it: {rivals(records)}."
    )
    for name, aim in AIMS.items():
        some = [won(r) for r in records if strength(r["eps"]) == name and math.isfinite(won(r))]
        inside = [loop_ratio(r) for r in records if strength(r["eps"]) == name and math.isfinite(loop_ratio(r))]
        if some:
            sentence += (
                f" {name.capitalize()} torque: {min(some):.2g} to {max(some):.2g}, median {statistics.median(some):.2g}"
                f" (loops {statistics.median(inside):.2g}; aim {aim:g})."
            )
    return sentence


LOWEST, HIGHEST, TICKS = 0.5, 40.0, (0.5, 1, 2, 3, 5, 10, 20, 40)
STRENGTH = "strength of the torque: its largest over twice the kinetic energy"


def _distances(record: Record) -> tuple[float, float]:
    """Returns how far the quartiles of the rounds are below and above the median."""
    quickest, middle = peers_of(record)[:1], won(record)
    if not quickest or not math.isfinite(middle):
        return 0.0, 0.0
    low, high = spread(record, quickest[0])
    return max(0.0, middle - low), max(0.0, high - middle)


def draw_map(found: Record, path: Path) -> None:
    """Draws ratios against eps, a line for each target."""
    from matplotlib.figure import Figure

    records = found["records"]
    bodies = list(dict.fromkeys(r["body"] for r in records))
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, len(bodies), sharey=True, squeeze=False)[0]
    for axes, body in zip(panels, bodies, strict=True):
        for k, target in enumerate(sorted({r["target"] for r in records}, reverse=True)):
            mine = sorted((r for r in records if r["body"] == body and r["target"] == target), key=lambda r: r["eps"])
            eps = [r["eps"] for r in mine]
            high = [won(r) for r in mine]
            apart = [_distances(r) for r in mine]
            axes.errorbar(eps, high, list(zip(*apart, strict=True)), fmt="o-", color=f"C{k}", label=f"to {target:.0e}")
            axes.plot(eps, [won(r, AUTO) for r in mine], ":", color=f"C{k}")
            for x, y in zip(eps, high, strict=True):
                if HIGHEST < y < math.inf:  # where all but a slow peer miss the error
                    axes.annotate(f"{y:.0f}", (x, 0.97 * HIGHEST), color=f"C{k}", ha="center", va="top")
        axes.axhspan(LOWEST, 1.0, color="0.9")
        axes.set(xscale="log", yscale="log", ylim=(LOWEST, HIGHEST), title=f"{body} body", xlabel=STRENGTH)
        axes.set_yticks(TICKS, [f"{x:g}" for x in TICKS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("times as fast as the quickest other program")
    panels[0].legend(fontsize=8, title="error at the end, rad")
    panels[0].text(0.02, 0.03, "grey: slower", transform=panels[0].transAxes)
    panels[-1].text(0.98, 0.03, "dotted: rtol= alone, with its search", transform=panels[-1].transAxes, ha="right")
    figure.savefig(path, dpi=110)


# --- the papers' problems --------------------------------------------------------------------------------------------


def papers_tables(found: Record) -> str:
    """Returns the time of each peer over polhode's, by problem and target."""
    records = found["records"]
    names = list(dict.fromkeys(n for r in records for n, e in r["entries"].items() if e.get("role") == "peer"))
    rows = [["problem", "error", "polhode", "ms", "loop, ms", "auto / polhode", *names]]
    for r in records:
        entries = r["entries"]
        mine = entries.get(MINE, {})
        timed = "median" in mine
        rows.append([
            r["problem"], f"{r['target']:.0e}", short(mine["told"]) if mine else "misses",
            f"{mine['median'] * 1e3:.3g}" if timed else "", f"{mine['loop'] * 1e3:.3g}" if "loop" in mine else "",
            f"{ratio(r, AUTO):.2g}" if timed else "", *(number(ratio(r, n)) if n in entries else "-" for n in names),
        ])  # fmt: skip
    text = (
        "Free bodies go by `FreeMotion`, made beforehand like the others' integrators. "
        "Each peer's time over polhode's, whole calls; - where it misses the error, takes longer than "
        f"{found['longest']:g} s, or cannot do the problem:\n\n" + markdown(rows)
    )
    if found["failures"]:
        text += "\n\nWho could not take part:\n\n" + "\n".join(f"- {p}: {n}: {why}" for p, n, why in found["failures"])
    return text


def draw_papers(found: Record, path: Path) -> None:
    """Draws errors against times."""
    from matplotlib.figure import Figure

    records = found["records"]
    problems = list(dict.fromkeys(r["problem"] for r in records))
    names = list(dict.fromkeys(n for r in records for n in r["entries"]))
    figure = Figure(figsize=(14, 7), layout="constrained")
    panels = figure.subplots(2, -(-len(problems) // 2), squeeze=False).ravel()
    for axes in panels[len(problems) :]:
        axes.set_visible(False)
    for axes, problem in zip(panels, problems, strict=False):
        for k, name in enumerate(names):
            points = [
                (e["median"], e["error"])
                for r in records
                if r["problem"] == problem and (e := r["entries"].get(name)) and "median" in e
            ]
            if points:
                x, y = zip(*points, strict=True)
                style = "o-" if name.startswith("polhode") else "s--"
                axes.plot(x, [max(e, 1e-16) for e in y], style, color=f"C{k}", label=name, markersize=4)
        axes.set(xscale="log", yscale="log", title=problem, xlabel="seconds", ylabel="error")
        axes.grid(alpha=0.3)
    handles = {label: h for axes in panels for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=9)
    figure.savefig(path, dpi=110)


# --- ensembles, scaling, the bound, long runs ------------------------------------------------------------------------


def _middle(record: Record, name: str) -> str:
    """Returns a ratio with its quartiles."""
    if name not in record:
        return "-"
    low, high = record.get(f"{name}_quartiles", (math.nan, math.nan))
    return number(record[name], 3) + ("" if math.isnan(low) else f" ({low:.3g} to {high:.3g})")


def tops_table(found: Sequence[Record]) -> str:
    """Returns heyoka's batch mode over polhode."""
    rows = [["starts about", "tops", "\\|w\\| T", "error", "heyoka / polhode", "heyoka / `rtol=`", "polhode",
             "µs a top", "heyoka", "µs a top"]]  # fmt: skip
    for r in found:
        mine, peer = r.get("polhode"), r["heyoka"]
        told = f"tolerance {peer['tolerance']:.0e}, {peer['batch']} at a time" if "tolerance" in peer else str(peer)
        rows.append([
            r["fleet"], f"{r['count']:,}", f"{r['angle']:.0f}", f"{r['target']:.0e}",
            _middle(r, "ratio"), _middle(r, "ratio_auto"),
            mine["told"] if mine else "misses",
            f"{mine['median'] / r['count'] * 1e6:.3g}" if mine else "", told,
            f"{peer['median'] / r['count'] * 1e6:.3g}" if "median" in peer else "",
        ])  # fmt: skip
    return markdown(rows)


def scaling_tables(found: Record) -> str:
    """Returns ns a step against bodies and steps, and threads."""
    methods = list(dict.fromkeys(r["method"] for r in found["bodies"]))

    def table(key: str, head: list[str], cells: Callable[[Record], list[str]]) -> str:
        rows = [[key, *(f"{m}{h}" for m in methods for h in head)]]
        rows += [
            [f"{value:,}", *(c for r in found[key] if r[key] == value for c in cells(r))]
            for value in dict.fromkeys(r[key] for r in found[key])
        ]
        return markdown(rows)

    gains = {
        "ratio": "two threads over one", "ratio_of_best": "of the quickest",
        "of_arithmetic": "of nothing but arithmetic", "best_of_arithmetic": "of the quickest",
    }  # fmt: skip
    threads = [["method", *gains.values()]]
    threads += [[r["method"], *(f"{r[k]:.2f}" if k in r else "" for k in gains)] for r in found["threads"]]
    many = found["many"]
    digits = [["rtol", *(f"eps {eps:.0e}: ms, {what}" for eps in _strengths(found) for what in ("steps", "method"))]]
    for rtol in dict.fromkeys(r["rtol"] for r in found.get("tolerance", [])):
        row = [f"{rtol:.0e}"]
        for r in found["tolerance"]:
            if r["rtol"] == rtol:
                row += [f"{1e3 * r['best']:.3g}, {r['steps']:,}", short(r["method"])]
        digits.append(row)
    memory = "; ".join(f"{r['bytes']:.0f} bytes with {r['rows']} rows" for r in found.get("memory", []))
    return "\n\n".join([
        "A step of a body in an ensemble on one thread, ns, quickest of the rounds:",
        table("bodies", [", ns"], lambda r: [f"{r['best'] * 1e9:.1f}"]),
        "A step of one body through `simulate`, ns, whole calls and loop:",
        table("steps", [", ns", ", loop"], lambda r: [f"{r['best'] * 1e9:.4g}", f"{r['loop'] * 1e9:.4g}"]),
        "Speed with two threads over that with one:",
        markdown(threads),
        "What digits cost: `simulate(rtol=)` of the asymmetric top of the map, 10,000 radians, with its estimate, the "
        "quickest of the rounds. A thousandth of the error takes more steps as the order of the method says, 1.54 "
        "times as many for the sixteenth of `G8`, unless the longest step is the limit, as it is for large errors:",
        markdown(digits),
        f"The memory of a body in an ensemble, most of it the start and the rows, of seven numbers each: {memory}.",
        f"{many['bodies']:,} bodies, {many['steps']:,} steps of {many['method']}, {many['threads']} threads: "
        f"{many['seconds']:.1f} s.",
    ])  # fmt: skip


def _strengths(found: Record) -> list[float]:
    """Returns the strengths of the torques for which digits were counted."""
    return list(dict.fromkeys(r["eps"] for r in found.get("tolerance", [])))


def draw_scaling(found: Record, path: Path) -> None:
    """Draws ns a step against bodies and steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, key in zip(panels, ("bodies", "steps"), strict=True):
        for k, method in enumerate(dict.fromkeys(r["method"] for r in found[key])):
            mine = [r for r in found[key] if r["method"] == method]
            axes.plot([r[key] for r in mine], [r["best"] * 1e9 for r in mine], "o-", color=f"C{k}", label=method)
        axes.set(xscale="log", yscale="log", xlabel=key, ylabel="ns a step of a body")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=110)


def bound_table(found: Any) -> str:
    """Returns measured steps and measured bounds."""
    if "unable" in found:
        return str(found["unable"])
    rows = [["method", "torque", "ns a step of a body", "bound, ns", "part of the bound", "of the quickest", "fma",
             "product", "sum", "division", "root", "all instructions"]]  # fmt: skip
    for r in found:
        mix = r["mix"]
        rows.append([
            r["method"], r["torque"], f"{r['step_best'] * 1e9:.1f}", f"{r['bound_best'] * 1e9:.1f}",
            f"{100 * r['fraction']:.0f} %", f"{100 * r['fraction_of_best']:.0f} %",
            *(str(mix[k]) for k in ("fma", "mul", "add", "div", "sqrt", "instructions")),
        ])  # fmt: skip
    return markdown(rows)


def long_table(found: Sequence[Record]) -> str:
    """Returns the change of the energy."""
    rows = [["eps", "\\|w\\| T", "", "setting", "change at the end", "most", "drift by a fitted line", "s"]]
    for r in found:
        if "unable" in r:
            rows.append([f"{r['eps']:g}", f"{r['angle']:g}", r["name"], r["unable"], "", "", "", ""])
            continue
        rows.append([
            f"{r['eps']:g}", f"{r['angle']:g}", r["name"], r["told"], f"{r['end']:.1e}", f"{r['most']:.1e}",
            f"{r['drift']:.1e}", f"{r['seconds']:.2g}",
        ])  # fmt: skip
    return markdown(rows)


def draw_long(found: Sequence[Record], path: Path) -> None:
    """Draws the change of the energy against time."""
    from matplotlib.figure import Figure

    strengths = list(dict.fromkeys(r["eps"] for r in found))
    figure = Figure(figsize=(5 * len(strengths), 4), layout="constrained")
    panels = figure.subplots(1, len(strengths), squeeze=False)[0]
    for axes, eps in zip(panels, strengths, strict=True):
        for r in found:
            if r["eps"] == eps and "change" in r:
                sizes = [max(abs(x), 1e-17) for x in r["change"]]
                axes.plot(r["times"], sizes, "--" if r["peer"] else "-", label=r["name"], linewidth=1)
        axes.set(xscale="log", yscale="log", title=f"eps {eps:g}", xlabel="t", ylabel="|change of the energy| / 2T")
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=7)
    figure.savefig(path, dpi=110)


def reference_table(found: Sequence[Record]) -> str:
    """Returns the references against 40 digits, and how sensitive the problems are."""
    rows = [["problem", "\\|w\\| T", "distance", "growth"]]
    rows += [[r["problem"], f"{r['angle']:.0f}", f"{r['distance']:.1e}", f"{r['growth']:.1e}"] for r in found]
    return markdown(rows)


def users_table(found: Record) -> str:
    """Returns how the whole call does beside heyoka with hindsight, and what was prepared for such calls."""
    head = ["", "`simulate(rtol=)`: median", "least", "slower in", "`prepare(rtol=)`: median", "least", "slower in"]
    rows = [head]
    for name, some in users.parts_of(found["records"]):
        cells = []
        for to in ("polhode", "prepared"):
            middle, least, slower = users.judged(some, to)
            cells += [number(middle), number(least), slower]
        rows.append([name, *cells])
    drawn = f"Seed {found['seed']}, {found['rounds']} rounds; heyoka's time over polhode's:"
    return f"{drawn}\n\n{markdown(rows)}"


# --- the headline ----------------------------------------------------------------------------------------------------


def rivals(records: Sequence[Record]) -> str:
    """Returns the names of those measured beside polhode."""
    found = sorted({peer for r in records for peer in peers_of(r)})
    if not found:
        return "no other"
    return f"{found[0]} alone" if len(found) == 1 else f"the quickest of {', '.join(found)}"


def in_plain_words(results: dict[str, Record]) -> str:
    """Returns three lines for the README that a stranger understands, with the day and the command."""
    rows: list[tuple[str, str]] = []
    if "map" in results:
        records = results["map"]["found"]["records"]
        some = [won(r) for r in records if strength(r["eps"]) == "weak" and math.isfinite(won(r))]
        if some:
            least, most, median = (number(f(some)) for f in (min, max, statistics.median))
            what = f"one body under a weak torque, compared at the same accuracy with {rivals(records)}"
            rows.append((what, f"{median} times as fast (from {least} to {most})"))
    if "tops" in results:
        ratios = [r["ratio"] for r in results["tops"]["found"] if r["target"] == 1e-9 and "ratio" in r]
        if ratios:
            what = "10,000 heavy tops to nine digits on one core, compared with heyoka's batch mode"
            rows.append((what, f"{number(min(ratios))} to {number(max(ratios))} times as fast"))
    if "scaling" in results:
        many = results["scaling"]["found"]["many"]
        rows.append((f"{many['bodies']:,} bodies, {many['steps']:,} steps each, all cores", f"{many['seconds']:.0f} s"))
    machine = next(iter(results.values()))["machine"]
    day, _, where = described(machine).partition(", load")[0].partition("; ")
    items = [
        textwrap.fill(f"- {what}: **{measured}**", README_COLUMNS, subsequent_indent="  ") for what, measured in rows
    ]
    return "\n".join([f"Measured on {day} by `make bench`; {where}.", "", *items])


def headline(results: dict[str, Record]) -> str:
    """Returns the one table for the top of the page, with the day: times as fast, with hindsight and by `rtol=`."""
    rows: list[list[str]] = [["times as fast as", "best setting of both", "`rtol=` alone", "aim"]]
    if "map" in results:
        records = results["map"]["found"]["records"]
        for name, aim in AIMS.items():
            some = [r for r in records if strength(r["eps"]) == name]
            both = [_range([won(r, to) for r in some if math.isfinite(won(r, to))]) for to in (MINE, AUTO)]
            rows.append([f"{rivals(records)}: one body, {name} torque ({BORDERS[name]})", *both, f"{aim:g}"])
    if "tops" in results:
        for r in results["tops"]["found"]:
            what = f"heyoka's batch mode: {r['count']:,} tops ({r['fleet']}) to {r['target']:.0e}, one core"
            rows.append(
                [what, _middle(r, "ratio"), _middle(r, "ratio_auto"), "20 and 10" if r["target"] == 1e-9 else ""]
            )
    if "scaling" in results:
        found = results["scaling"]["found"]
        rows += [[f"one thread: two threads, {r['method']}", f"{r['ratio']:.2f}", "", "1.9"] for r in found["threads"]]
        many = found["many"]
        told = f"{many['seconds']:.1f} s"
        rows.append([f"({many['bodies']:,} bodies, {many['steps']:,} steps of MR2 each)", told, "", "well under 60 s"])
    machine = next(iter(results.values()))["machine"]
    return f"{described(machine)}\n\n{markdown(rows)}"


BORDERS = {"weak": "up to 1e-5", "medium": "1e-4 to 1e-2", "strong": "0.1 and 1"}


def _range(ratios: Sequence[float]) -> str:
    """Returns the median of some points, and the range of all."""
    if not ratios:
        return "-"
    return f"{number(statistics.median(ratios))} ({number(min(ratios))} to {number(max(ratios))})"


TABLES: dict[str, Callable[[Any], str]] = {
    "map": map_tables, "papers": papers_tables, "tops": tops_table, "scaling": scaling_tables, "bound": bound_table,
    "long": long_table, "reference": reference_table, "users": users_table,
}  # fmt: skip
PLOTS: dict[str, Callable[[Any, Path], None]] = {
    "map": draw_map, "papers": draw_papers, "scaling": draw_scaling, "long": draw_long
}  # fmt: skip
TITLES = {
    "map": "The map", "papers": "The papers' problems", "tops": "Ten thousand tops",
    "scaling": "Bodies, steps, threads", "bound": "The fraction of the bound", "long": "Energy over long runs",
    "reference": "References", "users": "What users have",
}  # fmt: skip
HEADLINE = "headline"
README_COLUMNS = 88
PRINTED = ("fresh memory", "memory kept", "far", "flow", "lanes", "foundation")
"""Tables that are printed as they are; the last one has no place in the documentation."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes everything that the measurements allow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench"))
    parser.add_argument("--write", action="store_true", help="also into the pages in docs/ and README.md")
    asked = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    for name in TABLES:
        if (path := asked.out / f"{name}.json").exists():
            results[name] = json.loads(path.read_text())
    if not results:
        print(f"there is nothing in {asked.out}: run `python -m benchmarks` first")
        return 1
    texts = {name: f"{described(r['machine'])}\n\n{TABLES[name](r['found'])}" for name, r in results.items()}
    for name in PRINTED:
        if (path := asked.out / f"{name.replace(' ', '_')}.json").exists():
            texts[name] = results[name] = json.loads(path.read_text())["text"]
    top = headline({name: results[name] for name in TABLES if name in results})
    whole = "\n\n".join(
        [f"# Benchmarks\n\n{top}", *(f"## {TITLES.get(name, name)}\n\n{text}" for name, text in texts.items())]
    )
    (asked.out / "tables.md").write_text(whole + "\n")
    for name, draw in PLOTS.items():
        if name in results:
            draw(results[name]["found"], asked.out / f"bench_{name}.png")
    (asked.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(f"{top}\n\ntables, plots and results.json are in {asked.out}")
    if asked.write:
        for name, text in texts.items():
            if name != "foundation":
                put(page_of(name), name, text)
        put(page_of(HEADLINE), HEADLINE, top)
        for name in PLOTS:
            if name in results:
                shutil.copy(asked.out / f"bench_{name}.png", FIGURES / f"bench_{name}.png")
        put(ROOT / "README.md", HEADLINE, in_plain_words({name: results[name] for name in TABLES if name in results}))
    return 0
