"""The motions that the site shows turning."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import polhode as ph
from polhode.page.content import playground_data
from polhode.page.display import Page


def flip() -> object:
    """A body spun about its intermediate axis turns over, again and again."""
    return ph.simulate(
        ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0], t_span=(0, 20), rtol=1e-9, t_eval=np.linspace(0, 20, 401)
    )


def top() -> object:
    """A heavy top precesses about the vertical, and nods while it does."""
    return ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(20), omega=[0.1, 0, 50], attitude=[0.96, 0.28, 0, 0],
                       t_span=(0, 10), t_eval=np.linspace(0, 10, 1001), rtol=1e-9)  # fmt: skip


def playground() -> object:
    """Moments and rate are sliders, and the motion is exact."""
    return None


SCENES: dict[str, Callable[[], object]] = {"flip": flip, "top": top, "playground": playground}


def can_be_shown() -> bool:
    """Returns whether polhode can write pages here: they must be built, by `make viewer`."""
    return (Path(ph.__file__).parent / "page" / "built" / "page.js").exists()


def write(name: str, place: Path) -> None:
    """Writes the page of a scene; without a motion it is the playground."""
    motion = SCENES[name]()
    if motion is None:
        Page(playground_data()).save(place, overwrite=True)
    else:
        ph.view(motion, path=place, names=[name], title=SCENES[name].__doc__)
