"""The exceptions of compiled code, read where Numba leaves them: Numba itself is not there after a warm start."""

import ctypes
import pickle
from contextlib import suppress


class _Record(ctypes.Structure):
    """The beginning of Numba's record of an exception: the pickled class, arguments and place in the source."""

    _fields_ = (("pickled", ctypes.c_void_p), ("size", ctypes.c_int32))


def exception_at(address: int | None) -> str:
    """Returns what was raised, as in `ValueError: too far`.

    The place in the source is left out: a program is kept while lines move.
    """
    with suppress(Exception):  # an exception class that cannot be imported here
        if address:
            record = _Record.from_address(address)
            kind, arguments, _ = pickle.loads(ctypes.string_at(record.pickled, record.size))
            text = ", ".join(map(str, arguments or ()))
            return f"{kind.__name__}: {text}" if text else str(kind.__name__)
    return "an exception"
