"""Run the commands of docs/howto/referee.md again, and put there what they print: `python -m docs.make_referee`."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "howto" / "referee.md"
NESC = Path(os.environ.get("POLHODE_AUTHORITIES", HERE.parents[1] / "shared" / "data")) / "nesc"
BLOCK = re.compile(r"```text\n\$ polhode (check .*?)\n\n.*?```", re.DOTALL)


def main() -> None:
    """Writes the output below each command; those whose files are not there stay as they are."""
    PAGE.write_text(BLOCK.sub(_again, PAGE.read_text("utf-8")), "utf-8")
    command = ["check", "mujoco_euler_10ms.csv", "--body", "2,3,4", "--plot", str(HERE / "figures" / "referee.png")]
    _run([*command, "--force"])


def _again(block: re.Match[str]) -> str:
    arguments = shlex.split(block[1].replace("\\\n", " "))
    folders = (NESC, HERE.parent / "tests" / "referee" / "logs")
    if not all(any((f / a).exists() for f in folders) for a in arguments if a.endswith(".csv")):
        return block[0]
    return f"```text\n$ polhode {block[1]}\n\n{_run(arguments)}```"


def _run(arguments: list[str]) -> str:
    logs = HERE.parent / "tests" / "referee" / "logs"
    folder = NESC if any((NESC / a).is_file() for a in arguments) else logs
    command = [sys.executable, "-c", "from polhode.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    main()
