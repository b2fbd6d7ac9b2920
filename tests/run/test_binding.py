"""Methods bound to torques: which runs share a step and a loop."""

import itertools

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy.choice import CORRECTED, MODIFIED
from polhode.compiler.digest import digest
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import Depends, Scales
from polhode.methods import catalogue, find
from polhode.problem import Plan, Problem
from polhode.run.binding import NO_OTHERS, Binding, _bound_for
from polhode.run.rows import driver_of
from tests.run.common import run


@pytest.mark.parametrize("first", ["DOP853", "ExactPolished", "JE0"])
def test_methods_whose_schemes_are_equal_tuples_are_not_mixed_up(first: str) -> None:
    names = [first, *sorted({"DOP853", "ExactPolished", "JE0"} - {first})]
    _bound_for.cache_clear()
    ends = [run(torque=ph.Free(), method=name).quaternion[-1] for name in names]
    np.testing.assert_allclose(ends, [ends[0]] * 3, atol=1e-6)


@pytest.mark.parametrize("depends", [Depends.NOTHING, Depends.POSITION])
def test_schemes_of_any_size_make_one_step_for_all_sizes(depends: Depends) -> None:
    """Else a run would be made by a step that is prepared for another."""
    slow, fast = Scales((2.0, 3.0, 4.5), (1e-3,) * 3, 1e-3), Scales((2.0, 3.0, 4.5), (9.0,) * 3, 1.0, 5.0, True, True)
    pull = principal_torque(ph.HeavyTop(weight=1).torque_kernel, tilted=False, windowed=False)
    alike = set()
    for name, method in catalogue().items():
        if method.ignores_scales:
            steps = [method.scheme.bind(pull, depends, scales).step for scales in (slow, fast)]
            assert len({digest(step).name for step in steps}) == 1, name  # type: ignore[arg-type]
            alike.add(name)
    assert alike >= {"MR2", "G8", "DOP853", "NMB", "Adams"}
    assert not alike & {"Strang", "SABA", "Exact", "ExactPolished"}


@pytest.mark.parametrize("name", ["Strang", "SABA", "Exact", CORRECTED, MODIFIED, f"{MODIFIED}(compensated=true)"])
@pytest.mark.parametrize("gyrostat", [False, True])
def test_where_the_prepared_flows_are_the_same_so_is_the_step(name: str, gyrostat: bool) -> None:
    """Runs share a step by the flows alone: nothing else in it may depend on the sizes of a run."""
    method = find(name)
    if gyrostat and not method.accepts_rotor:
        return
    pull = principal_torque(ph.HeavyTop(weight=1).torque_kernel, tilted=False, windowed=False)
    rng, kinds = np.random.default_rng(3), list[int]()
    for depends in (Depends.NOTHING, Depends.POSITION, Depends.POSITION | Depends.TIME):
        steps: dict[object, set[tuple[str | None, ...]]] = {}
        for _ in range(8):
            size = 10.0 ** rng.uniform(-2, 2)
            momentum = tuple((size * rng.normal(size=3)).tolist())
            quickens, keeps = bool(depends & Depends.TIME), bool(rng.random() < 0.5)
            scales = Scales(
                (2.0, 3.0, 4.5), momentum, 0.1, float(rng.choice([0.0, 0.1, 3.0])), quickens, keeps, gyrostat=gyrostat
            )
            bound = method.scheme.bind(pull, depends, scales)
            parts = (bound.start, bound.step, bound.enter, bound.leave)
            names = tuple(f and digest(f).name for f in parts)  # type: ignore[arg-type]
            steps.setdefault(method.scheme.prepared_flows(depends, scales), set()).add(names)  # type: ignore[attr-defined]
        assert all(len(alike) == 1 for alike in steps.values())
        kinds.append(len(steps))
    assert max(kinds) > 1 or "compensated" in name


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["MR2", "G8", "RK4", "SABA8", CORRECTED, f"{MODIFIED}(compensated=true)"])
def test_another_start_needs_no_other_loop(method: str) -> None:
    """Neither to be made nor to be named by content, which takes longer than most runs."""
    run(method=method, every=20)
    before = driver_of.cache_info().misses
    run(method=method, every=20, omega=[0.9, 0.6, -0.3])
    assert driver_of.cache_info().misses == before


def test_programs_for_one_method_and_torque_are_told_apart_by_what_is_said_of_them(plain: None) -> None:
    """Else a line about the compilation of each seems to repeat the one before."""
    said: dict[str, object] = {}
    tilted = ph.Body([[1.2, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 2.0]])
    bodies = (ph.Body([1, 1.1, 2]), ph.Body([2, 2, 1]), tilted, ph.Body([1, 1.1, 2], rotor=[0.1, 0, 0.2]))
    for name, body, step in itertools.product(["Strang", "MR2", "SABA4"], bodies, [0.01, 0.1, 0.4, 1.0]):
        problem = Problem.given(body, ph.HeavyTop(2), omega=[0.1, 2, 0.3], t_span=(0, 4))
        binding = Binding(problem, Plan(find(name), step, torque_size=0.1), NO_OTHERS, driver_of)
        made = (binding.stepper, binding.tilted)
        assert said.setdefault(binding.what, made) == made, binding.what
    assert len(said) > 15
