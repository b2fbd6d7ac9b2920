"""The page in a browser: how large it is, how soon it is there, and what a frame costs with few and with many rows.

    python -m benchmarks.browser

Pages with 500 and with 5,000 rows a run take turns, and the best of several is told: other work on the machine only
adds. Frames are drawn by software, as on a machine without a graphics card, and every pixel of them is waited for.
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from tests.browser import OPTIONS, PROGRAMS

import polhode as ph
from polhode.page.content import FreeRun, page_data
from polhode.page.html import page_html

ROUNDS = 5
FRAMES = 12

READY = "window.polhode !== undefined && window.polhode.frames > 0"

# reading a pixel back waits until the picture is drawn
COST = """count => {
  const p = window.polhode, gl = document.querySelector("canvas").getContext("webgl2"), pixel = new Uint8Array(4);
  p.pause();
  const costs = [];
  for (let n = 0; n < count; n++) {
    p.time = p.start + (p.end - p.start) * ((n * 0.618) % 1);
    const began = performance.now();
    p.draw();
    const scripted = performance.now() - began;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    costs.push([scripted, performance.now() - began]);
  }
  return [0, 1].map(k => Math.min(...costs.map(c => c[k])));
}"""


def page(turns: float) -> str:
    """A page with two runs over so many turns of the body; rows are chosen by angle."""
    body = ph.Body([1.0, 2.0, 2.8])
    span = (0.0, turns * 3.14)
    return page_html(page_data([FreeRun(ph.FreeMotion(body, [0.01 * k, 2.0, 0.01]), span, f"{k}") for k in (1, 2)]))


def rows_of(tab: Any) -> int:
    data = "JSON.parse(document.getElementById('polhode-data').textContent)"
    return int(tab.evaluate(f"{data}.runs[0].t.length")) * 3 // 4 // 8


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, PROGRAMS)))
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        files = []
        for name, turns in (("few", 8.0), ("many", 80.0)):
            files.append(Path(folder) / f"{name}.html")
            files[-1].write_text(page(turns), "utf-8")
        best: dict[Path, list[float]] = {file: [1e9, 1e9, 1e9] for file in files}
        rows = {}
        for _ in range(ROUNDS):
            for file in files:
                tab = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
                began = time.perf_counter()
                tab.goto(file.as_uri())
                while not tab.evaluate(READY):
                    time.sleep(0.005)
                opened = time.perf_counter() - began
                rows[file] = rows_of(tab)
                scripted, drawn = tab.evaluate(COST, FRAMES)
                best[file] = [min(a, b) for a, b in zip(best[file], (opened, scripted, drawn), strict=True)]
                tab.close()
        browser.close()
        print("rows a run   size (MB)   open (s)   frame: script (ms)   with drawing (ms)")
        for file in files:
            opened, scripted, drawn = best[file]
            print(f"{rows[file]:10d}{file.stat().st_size / 1e6:12.3f}{opened:11.2f}{scripted:21.1f}{drawn:20.1f}")


if __name__ == "__main__":
    main()
