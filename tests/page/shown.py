"""The pages that are tested, and what is measured in their pictures."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import polhode as ph
from polhode.page.content import FreeRun, SolutionRun, page_data, playground_data
from polhode.page.html import page_html
from tests.browser import Tab

MOMENTS, OMEGA = (1.0, 2.0, 2.8), (0.01, 2.0, 0.01)
SPAN = (0.0, 40.0)


@dataclass(frozen=True)
class Files:
    """One free run; the same beside RK4; the playground."""

    free: Path
    two: Path
    playground: Path


def flip(t: float, q: Any, w: Any) -> float:
    return float(w[1])


def write_pages(folder: Path) -> Files:
    body = ph.Body(MOMENTS)
    motion = FreeRun(ph.FreeMotion(body, OMEGA), SPAN, "exact")
    rough = ph.simulate(body, omega=OMEGA, t_span=SPAN, step=0.2, method="RK4", events=flip)
    files = Files(folder / "free.html", folder / "two.html", folder / "playground.html")
    files.free.write_text(page_html(page_data([motion])), "utf-8")
    files.two.write_text(page_html(page_data([motion, SolutionRun(rough, name="RK4")])), "utf-8")
    files.playground.write_text(page_html(playground_data()), "utf-8")
    return files


Pixels = NDArray[np.float64]

REFERENCES = Path(__file__).parent / "references"
REFERENCE_TIMES = (0.0, 7.0, 19.0)


def picture(tab: Tab) -> Pixels:
    """The canvas alone, without labels: rows of red, green, blue and opacity between 0 and 1."""
    address = tab.evaluate("() => { polhode.draw(); return document.querySelector('canvas').toDataURL(); }")
    image = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    return np.asarray(image.convert("RGBA"), dtype=float) / 255.0


def small(pixels: Pixels, width: int = 50, height: int = 32) -> Pixels:
    """The picture on a light ground, as means over large squares: what does not depend on how edges are drawn."""
    solid = pixels[..., :3] * pixels[..., 3:] + (1.0 - pixels[..., 3:])
    rows = np.array_split(solid, height, axis=0)
    return np.array([[block.mean(axis=(0, 1)) for block in np.array_split(row, width, axis=1)] for row in rows])


def set_time(tab: Tab, t: float) -> None:
    tab.evaluate("t => { polhode.pause(); polhode.time = t; }", t)


def state(tab: Tab) -> Any:
    return tab.evaluate("() => ({ t: polhode.time, playing: polhode.playing, frames: polhode.frames })")


def reference(t: float) -> Path:
    """The file of the picture of the free run at a time. `python -m tests.page` writes them anew."""
    return REFERENCES / f"free_{t:g}.png"
