"""Room on the interpreter's stack: the function is the same but for its frame."""

import pytest

from polhode.compiler import programs
from polhode.compiler.stack_room import ROOM, with_room


def test_it_is_the_same_function() -> None:
    offset = 3

    def add(a: int, b: int = 2, *, c: int = 1) -> int:
        """Adds."""
        return a + b + c + offset

    roomy = with_room(add)
    assert roomy(1) == add(1) == 7
    assert roomy(1, 5, c=7) == add(1, 5, c=7)
    assert (roomy.__doc__, roomy.__name__, roomy.__module__) == (add.__doc__, add.__name__, add.__module__)
    assert roomy.__code__.co_stacksize == ROOM


def test_exceptions_pass_through_it() -> None:
    def fail() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        with_room(fail)()


def test_the_compiler_has_it() -> None:
    assert programs._compile.__code__.co_stacksize == ROOM
