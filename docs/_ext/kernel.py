"""The kernel that runs the blocks of pages: this Python, whatever kernels the user has, and without its greetings."""

import json
import os
import sys
from pathlib import Path

NAME = "polhode-docs"


def register(place: Path) -> None:
    """Makes the kernel known to Jupyter, in this process and those that it starts."""
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--Application.log_level=40"],
        "display_name": "Python",
        "language": "python",
        "env": {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))},
    }
    folder = place / "kernels" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.json").write_text(json.dumps(spec), "utf-8")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(place), os.environ.get("JUPYTER_PATH", ""))))
