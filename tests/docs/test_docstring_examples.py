"""Every public name has an example in its docstring, which is true."""

import os
import subprocess
import sys
from pathlib import Path


def test_every_public_name_has_an_example_that_is_true() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.docstring_examples"], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2], env={**os.environ, "NUMBA_DISABLE_JIT": "1", "POLHODE_QUIET": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
