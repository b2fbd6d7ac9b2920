"""The page of a release on PyPI: README.md with addresses in place of paths, and the addresses of the project.

Both come from `address` in [tool.hatch.metadata.hooks.custom] of pyproject.toml. While it is empty, paths stay as they
are.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+://|#)([^)\s]+)\)")
"""A link or a picture in Markdown whose target is a path."""


def absolute(text: str, address: str) -> str:
    """Returns Markdown whose paths begin with the address of the repository; unchanged without an address."""
    if not address:
        return text
    return LINK.sub(lambda m: f"{m[1]}[{m[2]}]({address}/{'raw' if m[1] else 'blob'}/main/{m[3]})", text)


def urls(address: str) -> dict[str, str]:
    """Returns the addresses that PyPI lists beside the page."""
    if not address:
        return {}
    return {
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
    }


class Hook(MetadataHookInterface):
    """Sets `readme` and `urls` when a distribution is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Puts both into the metadata."""
        address = self.config.get("address", "").rstrip("/")
        text = absolute(Path(self.root, "README.md").read_text("utf-8"), address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(address)
