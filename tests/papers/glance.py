"""A look at a study: data, claims and figure come out whole."""

from functools import cache

import numpy as np

from polhode.papers.study import Claim, ClaimVerdict, Data, Size, Study


@cache
def glanced(study: Study) -> tuple[Data, list[Claim]]:
    """Data and claims of a study at the quick size."""
    data = study.run(Size.QUICK)
    claims = study.check(data, Size.QUICK)
    assert study.title
    assert study.caption
    assert claims
    for c in claims:
        assert all((c.says, c.source, c.paper, c.reason)), c
        if c.verdict is not ClaimVerdict.NOT_JUDGED:
            assert c.measured, c
            assert "nan" not in c.measured, c
    for name, v in data.variables.items():
        assert v.data.size, name
        assert v.attributes["long_name"], name
    return data, claims


def all_finite(data: Data) -> bool:
    """Whether every run went through."""
    return all(np.isfinite(v).all() for v in data.values() if v.dtype.kind == "f")


def drawn(study: Study, data: Data) -> None:
    """The figure has labels, and something in every panel."""
    figure = study.plot(data)
    figure.set_layout_engine("none")  # the layout takes most of the time
    figure.draw_without_rendering()
    assert all(ax.has_data() for ax in figure.axes)
    assert any(ax.get_ylabel() for ax in figure.axes)
