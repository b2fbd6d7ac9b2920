"""Memory of worker processes: what a batch of bodies frees is kept for the next one."""

import ctypes
import os
from functools import cache

KEPT_BYTES = 2**26
"""The freed memory that a worker keeps."""
LARGEST_KEPT_ARRAY = 2**25
"""Larger arrays go back to the system at once; glibc allows no more."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers that these two have in malloc.h."""


@cache
def keep_freed_memory() -> None:
    """Has a worker keep a little of the memory that it frees, where its environment says that it should not.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_. With that, glibc gives the memory of every array of more than
    128 kB back at once, and the system has to clear pages for the next one: parts took 11 % longer. Where the variable
    is not set, glibc learns by itself to keep what is asked for again and again.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library
        return
    mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_ARRAY)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
