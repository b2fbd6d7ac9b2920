"""How near a step in lanes comes to the limit of the processor.

The bound is measured, not looked up: the floating-point instructions of the loop over steps are counted in the machine
code that polhode made (fused multiply-adds, products, sums, divisions, square roots on full registers), and the same
instructions, as many of each and independent of each other, are run in a loop of their own. What that takes is the
least that a step can take, if nothing ever waits for a result and nothing is loaded, stored or compared.
"""

import ctypes
import heapq
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import polhode as ph
from benchmarks.budget import UNLIMITED, Clock
from benchmarks.contenders import Unable
from benchmarks.harness import rounds_of
from benchmarks.scaling import starts

BODIES, STEPS, H = 1024, 4_000, 0.05
ROUNDS = 11
METHODS = ("MR2", "Strang")
TORQUES: dict[str, Any] = {"free": None, "heavy top": ph.HeavyTop(1.0)}
REPEATS = 50_000
"""Repetitions of the mix in one call."""


class Mix(NamedTuple):
    """Counts the instructions on full vector registers, in one step of `lanes` bodies."""

    fma: int
    mul: int
    add: int
    div: int
    sqrt: int
    instructions: int
    """Instructions of all kinds."""
    width: int
    """Numbers in a register."""


PATTERNS = {"fma": r"vfn?m(add|sub)", "mul": r"vmul", "add": r"v(add|sub)", "div": r"vdiv", "sqrt": r"vsqrt"}


def counted(method: str, torque: str) -> Mix:
    """Counts the instructions of the program that `ensemble` compiles, in its own process with its own cache."""
    objdump = shutil.which("objdump")
    if objdump is None:
        raise Unable("instructions are counted with objdump, which is not installed")
    with tempfile.TemporaryDirectory() as cache:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.bound", method, torque],
            env=os.environ | {"POLHODE_CACHE_DIR": cache}, check=True,
        )  # fmt: skip
        mixes = []
        for file in Path(cache).iterdir():
            code = file.read_bytes()
            if (begin := code.find(b"\x7fELF")) >= 0:
                (bare := file.with_suffix(".o")).write_bytes(code[begin:])
                listed = subprocess.run(
                    [objdump, "-d", "--no-show-raw-insn", str(bare)], capture_output=True, text=True, check=True
                )
                mixes += _loops(listed.stdout)
    if not mixes:
        raise Unable(f"no loop on vector registers was found in the program of {method}")
    return max(mixes, key=_operations)


def _operations(mix: Mix) -> int:
    return mix.fma + mix.mul + mix.add + mix.div + mix.sqrt


Instruction = tuple[int, str, str]
"""Address, operation, arguments."""


def _loops(listing: str) -> list[Mix]:
    """Returns the loop over steps: the shortest cycle through the block with the most arithmetic, if there is one.

    What is hardly ever done, such as output and angles that are not short, is no part of it.
    """
    found = re.findall(r"^\s+([0-9a-f]+):\s+(\S+)[ \t]*(.*)$", listing, re.MULTILINE)
    code = [(int(address, 16), operation, arguments) for address, operation, arguments in found]
    place = {address: k for k, (address, _, _) in enumerate(code)}
    targets = {k: place[to] for k, one in enumerate(code) if (to := _target(one)) in place}
    leaves = {k for k, (_, operation, _) in enumerate(code) if operation.startswith(("j", "ret"))}
    starts = sorted({0, *targets.values(), *(k + 1 for k in leaves)} - {len(code)})
    blocks = {a: code[a:b] for a, b in itertools.pairwise([*starts, len(code)])}
    after: dict[int, list[int]] = {}
    for start, block in blocks.items():
        last = start + len(block) - 1
        after[start] = [targets[last]] if last in targets else []
        if not block[-1][1].startswith(("jmp", "ret")) and last + 1 in blocks:
            after[start].append(last + 1)
    heaviest = max(blocks, key=lambda start: _operations(_mix(blocks[start])))
    waiting: list[tuple[int, int, tuple[int, ...]]] = [(0, heaviest, (heaviest,))]
    seen = set[int]()
    while waiting:
        length, here, way = heapq.heappop(waiting)
        if here == heaviest and length > 0:
            return [_mix([one for start in way[:-1] for one in blocks[start]])]
        if here not in seen:
            seen.add(here)
            for there in after[here]:
                heapq.heappush(waiting, (length + len(blocks[there]), there, (*way, there)))
    return []


def _target(instruction: Instruction) -> int | None:
    """Returns where a jump goes."""
    _, operation, arguments = instruction
    to = re.match(r"[0-9a-f]+", arguments)
    return int(to[0], 16) if to and operation.startswith("j") else None


def _mix(code: list[Instruction]) -> Mix:
    register, width = ("zmm", 8) if any("zmm" in a for _, _, a in code) else ("ymm", 4)
    counts = Counter(
        name
        for _, operation, arguments in code
        for name, pattern in PATTERNS.items()
        if register in arguments and re.match(pattern, operation) and operation.endswith("pd")
    )
    kinds = {name: counts[name] for name in PATTERNS}
    return Mix(**kinds, instructions=len(code), width=width)


# --- the same instructions, independent of each other ----------------------------------------------------------------

CHAINS = {"pool": 9, "div": 2, "sqrt": 3}
"""Results in flight; products and sums share theirs: enough for the latencies, few enough for 16 registers."""


def _text(mix: Mix) -> str:
    """Returns LLVM's text of a function that runs the mix `n` times and stores its results, so that none is dropped."""
    vector = f"<{mix.width} x double>"
    fma, root = f"@llvm.fma.v{mix.width}f64", f"@llvm.sqrt.v{mix.width}f64"
    counts = {name: getattr(mix, name) for name in PATTERNS}
    # evenly spread: the k-th of n instructions of a kind has its place at (k + 1/2) / n
    order = sorted(((k + 0.5) / n, name) for name, n in counts.items() for k in range(n))
    live = {(chain, k): f"%{chain}{k}" for chain, n in CHAINS.items() for k in range(n)}
    phis, body, last, used = [], [], dict(live), Counter[str]()
    for number, (_, name) in enumerate(order):
        chain, result = name if name in CHAINS else "pool", f"%r{number}"
        key = (chain, used[chain] % CHAINS[chain])
        used[chain] += 1
        x = last[key]
        operation = {
            "fma": f"call {vector} {fma}({vector} {x}, {vector} %scale, {vector} %shift)",
            "mul": f"fmul {vector} {x}, %scale",
            "add": f"fadd {vector} {x}, %shift",
            "div": f"fdiv {vector} %shift, {x}",
            "sqrt": f"call {vector} {root}({vector} {x})",
        }[name]
        body.append(f"{result} = {operation}")
        last[key] = result
    for key, name in live.items():
        phis.append(f"{name} = phi {vector} [ %start, %entry ], [ {last[key]}, %loop ]")
    stores = [
        line
        for k, key in enumerate(live)
        for line in (
            f"%p{k} = getelementptr {vector}, ptr %out, i64 {k}",
            f"store {vector} {last[key]}, ptr %p{k}, align 8",
        )
    ]
    return "\n".join([
        f"declare {vector} {fma}({vector}, {vector}, {vector})",
        f"declare {vector} {root}({vector})",
        "define void @mix(i64 %n, ptr %in, ptr %out) {",
        "entry:",
        f"%start = load {vector}, ptr %in, align 8",
        f"%ps = getelementptr {vector}, ptr %in, i64 1",
        f"%scale = load {vector}, ptr %ps, align 8",
        f"%pt = getelementptr {vector}, ptr %in, i64 2",
        f"%shift = load {vector}, ptr %pt, align 8",
        "br label %loop",
        "loop:",
        "%i = phi i64 [ 0, %entry ], [ %j, %loop ]",
        *phis, *body,
        "%j = add i64 %i, 1",
        "%more = icmp slt i64 %j, %n",
        "br i1 %more, label %loop, label %end",
        "end:",
        *stores,
        "ret void", "}",
    ])  # fmt: skip


def runner(mix: Mix) -> Callable[[], object]:
    """Returns a function that runs the mix REPEATS times."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(_text(mix))
    module.verify()
    host = binding.get_host_cpu_features().flatten()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=host, opt=3
    )
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("mix"))
    numbers = np.repeat([0.7, 0.999, 0.6], mix.width)
    out = np.empty(mix.width * sum(CHAINS.values()))

    def run() -> object:
        call(REPEATS, numbers.ctypes.data, out.ctypes.data)
        return engine

    return run


# --- the measurement -------------------------------------------------------------------------------------------------


def fleet(method: str, torque: str, steps: int = STEPS) -> ph.Ensemble:
    """Makes all steps of all bodies, on one core."""
    rates, attitudes = starts(BODIES)
    return ph.ensemble(
        ph.Body([1.0, 2.0, 2.7]), TORQUES[torque], omega=rates, attitude=attitudes,
        t_span=(0.0, steps * H), step=H, method=method, threads=1,
    )  # fmt: skip


def measured(quick: bool = False, clock: Clock = UNLIMITED) -> list[dict[str, Any]]:
    """Returns a record for each method and torque, without the set-up: an eighth of the steps is timed as well."""
    records = []
    for method in METHODS:
        for torque in clock.within(TORQUES, method):
            mix = counted(method, torque)
            lanes = fleet(method, torque, 10).lanes
            few = STEPS // 8

            def long(method: str = method, torque: str = torque) -> object:
                return fleet(method, torque)

            def short(method: str = method, torque: str = torque, steps: int = few) -> object:
                return fleet(method, torque, steps)

            # processor time, which does not count waiting for a core
            candidates = {"long": long, "short": short, "bound": runner(mix)}
            times = rounds_of(candidates, 5 if quick else ROUNDS, clock=time.process_time)
            steps = BODIES * (STEPS - few)
            each = [(a - b) / steps for a, b in zip(times["long"], times["short"], strict=True)]
            bound = [t / REPEATS / lanes for t in times["bound"]]
            records.append({
                "method": method, "torque": torque, "lanes": lanes, "mix": mix._asdict(),
                "step_best": (min(times["long"]) - min(times["short"])) / steps, "step_median": statistics.median(each),
                "bound_best": min(bound), "bound_median": statistics.median(bound),
                "fraction": statistics.median(b / t for b, t in zip(bound, each, strict=True)),
                "fraction_of_best": min(bound) / ((min(times["long"]) - min(times["short"])) / steps),
            })  # fmt: skip
    return records


if __name__ == "__main__":
    fleet(sys.argv[1], sys.argv[2], 10)
