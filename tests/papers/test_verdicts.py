"""Every verdict can fail: other numbers in the data of a study give other verdicts."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polhode.papers.study import ClaimVerdict, Data, Size, Study, about, studies
from tests.papers.glance import glanced

CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda x: 1e6 * x + 1e6,
    lambda x: 1e-6 * x,
    lambda x: 100.0 * x,
    lambda x: np.abs(x) ** 1.5,
    lambda x: np.abs(x) ** (2 / 3),
    lambda x: 3.7 * x,
    lambda x: x / 3.7,
    lambda x: x[::-1],
    lambda x: x * np.linspace(1.0, 30.0, x.size).reshape(x.shape),
    lambda x: x * np.linspace(30.0, 1.0, x.size).reshape(x.shape),
    lambda x: np.zeros_like(x) + 1.0,
    lambda x: -x,
    lambda x: np.roll(x, 1, axis=-1),
    lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, 1e3 * x + 1.0, x),
    lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, 1e3 * x + 1.0, x),
)


def steeper_after_the_first(x: Any) -> Any:
    """Returns rows of which all but the first fall faster."""
    return np.concatenate([x[:1], np.abs(x[1:]) ** 1.5])


def is_coordinate(x: Any) -> bool:
    """Whether an array has times or steps, on which the others depend."""
    return bool(x.ndim == 1 and x.size > 1 and (np.abs(np.diff(np.sign(np.diff(x)))).sum() == 0))


def changed(data: Data) -> Iterator[Data]:
    """Returns the data of a study with one array changed, then with another, then with all of them."""
    names = [n for n, v in data.variables.items() if v.data.dtype.kind == "f" and not is_coordinate(v.data)]
    for chosen in (*([n] for n in names), names, [n for n, v in data.variables.items() if v.data.dtype.kind == "f"]):
        for change in (*CHANGES, steeper_after_the_first):
            other = {n: replace(data.variables[n], data=change(data[n].copy())) for n in chosen}
            yield Data(**{**data.variables, **other})


@pytest.mark.parametrize("study", studies().values(), ids=studies())
def test_every_verdict_can_change(study: Study) -> None:
    data, claims = glanced(study)
    fixed = {k: c for k, c in enumerate(claims) if c.verdict is not ClaimVerdict.NOT_JUDGED}
    for other in changed(data):
        if not fixed:
            break
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = study.check(other, Size.QUICK)
            except (ValueError, TypeError, ArithmeticError, IndexError, np.linalg.LinAlgError):
                continue
        fixed = {k: c for k, c in fixed.items() if found[k].verdict is c.verdict}
    assert not fixed, f"no change of the data changes these verdicts: {[c.says for c in fixed.values()]}"


def test_sizes_are_compared_in_both_directions() -> None:
    assert about(2e-13, 1e-13)
    assert not about(1e-15, 1e-13)
    assert not about(1e-11, 1e-13)
