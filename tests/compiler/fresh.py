"""Fresh processes: each with a cache directory of its own choice, reporting what it did as JSON."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import polhode

REPORT = """
import json as _json, sys as _sys
from polhode.compiler import programs as _programs
def report(**found):
    found |= {"compilations": _programs.compilations, "numba": "numba" in _sys.modules}
    print("REPORT" + _json.dumps(found))
"""


class Fresh:
    """Starts processes in one directory that share one cache of programs and one of bytecode."""

    def __init__(self, directory: Path, bytecode: Path) -> None:
        self.directory, self.cache = directory, directory / "cache"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory / "home"),
            "POLHODE_CACHE_DIR": str(self.cache),
            "PYTHONPATH": str(Path(polhode.__file__).parents[1]),  # the same polhode as in this process
            "PYTHONPYCACHEPREFIX": str(bytecode),  # Numba's import is slow without it
            "PYTHONWARNINGS": "error",
        }

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(textwrap.dedent(text))
        return path

    def start(self, *arguments: str, **environment: str | None) -> subprocess.Popen[str]:
        chosen = {**self.environment, **environment}
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.directory,
            env={k: v for k, v in chosen.items() if v is not None},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
        )

    def finish(self, process: subprocess.Popen[str], text: str = "") -> dict[str, Any]:
        out, err = process.communicate(text, timeout=900)  # against waiting for ever; a busy machine takes its time
        assert process.returncode == 0, f"{out}\n{err}"
        (line,) = [line for line in out.splitlines() if line.startswith("REPORT")]
        found: dict[str, Any] = json.loads(line.removeprefix("REPORT"))
        return found

    def script(self, name: str, *arguments: str, **environment: str | None) -> dict[str, Any]:
        return self.finish(self.start(name, *arguments, **environment))

    def code(self, text: str, **environment: str | None) -> dict[str, Any]:
        return self.finish(self.start("-c", REPORT + textwrap.dedent(text), **environment))

    def stdin(self, text: str, **environment: str | None) -> dict[str, Any]:
        return self.finish(self.start("-", **environment), REPORT + textwrap.dedent(text))

    def programs(self) -> list[Path]:
        return sorted(self.cache.glob("*.code"))
