"""Workers keep the memory of one batch for the next, where Dask has told them not to."""

import os
import platform
import subprocess
import sys

import pytest

PAGES = """
import resource
import numpy as np
from polhode.cluster.memory import keep_freed_memory

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(2**17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = new_pages()
keep_freed_memory()
new_pages()
print(before, new_pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.parametrize("told", [True, False])
def test_freed_memory_is_kept(told: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    if told:
        environment["MALLOC_TRIM_THRESHOLD_"] = "65536"  # as Dask does
    run = subprocess.run([sys.executable, "-c", PAGES], env=environment, capture_output=True, text=True, check=True)
    before, after = map(int, run.stdout.split())
    assert (before > 2_000) == told  # a MB has 256 pages, or a few large ones
    assert after < 500
