"""What must hold for every motion, tried on motions that hypothesis thinks of."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import polhode as ph
from tests.faults.trial import Bench, Tally, trial

number = st.floats(-3.0, 3.0).map(lambda x: x if abs(x) > 1e-9 else 0.0)
"""Sizes far below those of the motion are refused."""
vector = st.tuples(number, number, number)
quaternion = st.tuples(number, number, number, number).filter(lambda q: sum(x * x for x in q) > 0.1)
ratio = st.floats(0.0, 1.0)
sides = st.tuples(*[st.floats(0.3, 3.0)] * 3)
"""Half lengths of a box, whose moments are always possible."""
methods = st.sampled_from(["MR2", "RK4"])
steps = st.integers(1, 60)
H = 0.03125
"""A power of two, so that times are without round-off."""


def body(box: tuple[float, ...]) -> ph.Body:
    a, b, c = (x * x for x in box)
    return ph.Body([b + c, a + c, a + b])


def attitude(q: tuple[float, ...]) -> Rotation:
    return Rotation.from_quat(q, scalar_first=True)


def holds(size: int, tally: Tally, chance: int, property_of: Callable[..., Any], **given_by: Any) -> None:
    """Tries a property on examples, and counts them; a failure is counted once, with its simplest example."""
    from hypothesis import seed

    @seed(chance)
    @settings(
        max_examples=size, deadline=None, database=None, derandomize=False, suppress_health_check=list(HealthCheck)
    )
    @given(**given_by)
    def tried(**values: Any) -> None:
        property_of(**values)
        tally.tried += 1

    try:
        tried()
    except Exception as problem:
        notes = "; ".join(getattr(problem, "__notes__", []))
        tally.add(False, f"{type(problem).__name__}: {problem} {notes}")


def near(a: Any, b: Any, tolerance: float) -> None:
    scale = 1.0 + float(np.abs(a).max(initial=0.0))
    assert np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0) <= tolerance * scale


@trial("property: backwards from the end leads to the start", "to 1e-9", short=15, full=400)
def reversal(bench: Bench, size: int, tally: Tally) -> None:
    def back(box: Any, w: Any, q: Any, n: int) -> None:
        # MR2 is symmetric: the step back undoes the step. Round-off of 60 steps of motions that may be unstable: 1e-9.
        there = ph.simulate(
            body(box), ph.HeavyTop(2.0), omega=w, attitude=attitude(q), t_span=(0, n * H), step=H, method="MR2"
        )
        back = ph.simulate(
            body(box), ph.HeavyTop(2.0), omega=there.omega[-1], attitude=there.attitude[-1], t_span=(n * H, 0), step=-H,
            method="MR2",
        )  # fmt: skip
        near(back.momentum[-1], there.momentum[0], 1e-9)
        near(back.attitude[-1].as_matrix(), there.attitude[0].as_matrix(), 1e-9)

    holds(size, tally, bench.chance.getrandbits(30), back, box=sides, w=vector, q=quaternion, n=steps)


@trial("property: the same motion seen from a turned space", "is the motion, turned; to 1e-9", short=15, full=400)
def turned_space(bench: Bench, size: int, tally: Tally) -> None:
    def turned(box: Any, w: Any, q: Any, r: Any, f: Any, n: int, method: str) -> None:
        turn, start = attitude(r), attitude(q)
        run: dict[str, Any] = {"omega": w, "t_span": (0, n * H), "step": H, "method": method}
        one = ph.simulate(body(box), ph.ConstantSpaceTorque(f), attitude=start, **run)
        other = ph.simulate(
            body(box), ph.ConstantSpaceTorque(tuple(turn.apply(f).tolist())), attitude=turn * start, **run
        )
        near(other.momentum, one.momentum, 1e-9)
        near(other.attitude.as_matrix(), (turn * one.attitude).as_matrix(), 1e-9)
        near(other.spatial_momentum, turn.apply(one.spatial_momentum), 1e-9)

    holds(
        size, tally, bench.chance.getrandbits(30), turned,
        box=sides, w=vector, q=quaternion, r=quaternion, f=vector, n=steps, method=methods,
    )  # fmt: skip


@trial("property: axes with other names", "give the same motion under these names; to 1e-9", short=15, full=400)
def other_axes(bench: Bench, size: int, tally: Tally) -> None:
    def relabelled(box: Any, w: Any, f: Any, n: int, shift: int) -> None:
        # The axes 1, 2, 3 are called 2, 3, 1 or 3, 1, 2, in body and in space.
        order = np.roll(np.arange(3), shift)
        run: dict[str, Any] = {"t_span": (0, n * H), "step": H, "method": "RK4"}
        one = ph.simulate(body(box), ph.ConstantSpaceTorque(f), omega=w, **run)
        named = ph.ConstantSpaceTorque(tuple(np.array(f)[order].tolist()))
        other = ph.simulate(body(tuple(np.array(box)[order].tolist())), named, omega=np.array(w)[order], **run)
        near(other.momentum, one.momentum[:, order], 1e-9)
        near(other.quaternion[:, 1:], one.quaternion[:, 1:][:, order], 1e-9)

    holds(
        size, tally, bench.chance.getrandbits(30), relabelled,
        box=sides, w=vector, f=vector, n=steps, shift=st.sampled_from([1, 2]),
    )  # fmt: skip


@trial("property: a run in two parts", "has the bits of the run in one go", short=15, full=400)
def parts_and_whole(bench: Bench, size: int, tally: Tally) -> None:
    def split(box: Any, w: Any, q: Any, n: int, k: int, method: str) -> None:
        given: dict[str, Any] = {"omega": w, "attitude": attitude(q), "step": H, "method": method}
        whole = ph.simulate(body(box), ph.HeavyTop(2.0), t_span=(0, (n + k) * H), **given)
        parts = ph.resume(ph.simulate(body(box), ph.HeavyTop(2.0), t_span=(0, n * H), **given), (n + k) * H)
        for name in ("t", "quaternion", "momentum"):
            assert getattr(parts, name).tobytes() == getattr(whole, name).tobytes()

    holds(
        size, tally, bench.chance.getrandbits(30), split,
        box=sides, w=vector, q=quaternion, n=steps, k=steps, method=methods,
    )  # fmt: skip


@trial("property: a run in short chunks, with progress", "has the bits of a run in long ones", short=15, full=400)
def chunks(bench: Bench, size: int, tally: Tally) -> None:
    def chunked(box: Any, w: Any, q: Any, n: int, every: int, method: str) -> None:
        given: dict[str, Any] = {"omega": w, "attitude": attitude(q), "step": H, "method": method, "every": every}
        one = ph.simulate(body(box), ph.HeavyTop(2.0), t_span=(0, n * H), **given)
        seen = list[int]()
        other = ph.simulate(
            body(box), ph.HeavyTop(2.0), t_span=(0, n * H), progress=lambda done, _: seen.append(done), **given
        )
        assert seen[-1] == n
        for name in ("t", "quaternion", "momentum"):
            assert getattr(other, name).tobytes() == getattr(one, name).tobytes()

    holds(
        size, tally, bench.chance.getrandbits(30), chunked,
        box=sides, w=vector, q=quaternion, n=steps, every=st.integers(1, 7), method=methods,
    )  # fmt: skip


@trial("property: bodies of an ensemble", "have the bits of each body alone", short=5, full=300)
def many_and_one(bench: Bench, size: int, tally: Tally) -> None:
    def alike(box: Any, w: Any, q: Any, count: int, n: int, method: str, threads: int) -> None:
        # 9 bodies leave lanes empty, 24 fill them
        spin = np.array(w) * np.linspace(0.2, 1.3, count)[:, None]
        given: dict[str, Any] = {"attitude": attitude(q), "t_span": (0, n * H), "step": H, "method": method, "every": 3}
        many = ph.ensemble(body(box), ph.HeavyTop(2.0), omega=spin, threads=threads, **given)
        for k in (0, count // 2, count - 1):
            one = ph.simulate(body(box), ph.HeavyTop(2.0), omega=spin[k], **given)
            assert many[k].momentum.tobytes() == one.momentum.tobytes()
            assert many[k].quaternion.tobytes() == one.quaternion.tobytes()

    holds(
        size, tally, bench.chance.getrandbits(30), alike,
        box=sides, w=vector, q=quaternion, count=st.sampled_from([9, 24]), n=steps, method=methods,
        threads=st.sampled_from([1, 2]),
    )  # fmt: skip
