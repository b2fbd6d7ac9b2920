"""The page as a widget for notebooks, by anywidget: `pip install 'polhode[notebook]'`."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from polhode.page.display import Page
from polhode.page.html import as_json, product


class PageWidget(anywidget.AnyWidget):
    """A page in a notebook. `time`, the time that is shown in s, follows the page, and the page follows it."""

    _esm = product("widget.js")
    _css = product("page.css")
    data = traitlets.Unicode(help="What is shown, as JSON.").tag(sync=True)
    time = traitlets.Float(help="The time that is shown, in s.").tag(sync=True)

    def __init__(self, page: Page, **others: Any) -> None:
        self.page = page
        super().__init__(data=as_json(page.data), time=page.begin, **others)
