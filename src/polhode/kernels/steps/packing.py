"""Memories of steps that keep some of their numbers in the lanes of vector registers."""

from collections.abc import Callable
from typing import Any

from polhode.kernels.codegen import function
from polhode.kernels.ops import from_lanes, lane
from polhode.kernels.types import Packing


def packing(before: int, vectors: int, width: int, after: int, *, lanes: int) -> Packing:
    """How to load and store a memory of numbers, then vectors, then numbers.

    There are `before` numbers, `vectors` vectors of `width` numbers, each in a register of `lanes` lanes, and `after`
    numbers.
    """
    loaded = [f"x[k + {i}]" for i in range(before)]
    stored = [f"x[k + {i}] = v[{i}]" for i in range(before)]
    for j in range(vectors):
        places = [f"x[k + {before + width * j + i}]" for i in range(width)]
        loaded.append(f"from_lanes(({', '.join([*places, *['0.0'] * (lanes - width)])}))")
        stored += [f"{place} = lane(v[{before + j}], {i})" for i, place in enumerate(places)]
    end = before + width * vectors
    loaded += [f"x[k + {end + i}]" for i in range(after)]
    stored += [f"x[k + {end + i}] = v[{before + vectors + i}]" for i in range(after)]
    names = {"from_lanes": from_lanes, "lane": lane}
    load: Callable[[Any, int], Any] = function("load(x, k)", [f"return ({', '.join(loaded)})"], names)
    store: Callable[[Any, int, Any], None] = function("store(x, k, v)", stored, names)
    return Packing(before + vectors + after, load, store)
