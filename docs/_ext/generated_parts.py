"""Pages that are written from the source when the site is built: API, command line, torques, check cases."""

from sphinx.application import Sphinx
from sphinx.config import Config

from docs import make_api, make_cases, make_commands, make_torques


def write(app: Sphinx, config: Config) -> None:
    """Writes pages whose text has changed."""
    for made in (make_api, make_cases, make_commands, make_torques):
        text = made.page()
        if not made.PAGE.exists() or made.PAGE.read_text("utf-8") != text:
            made.PAGE.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the writing: before the list of pages is made, in which autosummary looks for names."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
