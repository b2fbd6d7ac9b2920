"""Writes the reference pictures anew: to be looked at before they are committed."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser import OPTIONS, PROGRAMS, Tab
from tests.page.conftest import SIZE
from tests.page.shown import REFERENCE_TIMES, picture, reference, set_time, small, write_pages

with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=next(filter(None, map(shutil.which, PROGRAMS))), args=OPTIONS)
    tab = Tab(browser, *SIZE)
    tab.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    tab.open(write_pages(Path(folder)).free)
    tab.wait("window.polhode !== undefined && window.polhode.frames > 0")
    for t in REFERENCE_TIMES:
        set_time(tab, t)
        pixels = (small(picture(tab)) * 255.0).round().astype(np.uint8)
        reference(t).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(reference(t))
        print(reference(t))
    browser.close()
