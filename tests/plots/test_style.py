"""The style file for pictures of one's own has the look of the library's."""

import matplotlib.pyplot as plt

from polhode.plots import plot


def test_the_style_has_the_colours_and_the_width_of_plot() -> None:
    with plt.style.context("polhode.plots.polhode"):
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        assert plt.rcParams["lines.linewidth"] == plot.WIDTH
    colours = [colour.upper() for colour in cycle]
    assert colours[:5] == [colour for colour, _ in plot.CARRIED[:5]]
    assert set(colours) <= {colour for colour, _ in plot.CARRIED}
