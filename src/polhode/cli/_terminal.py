"""Output of commands: text, tables, progress, and the end of the program."""

import errno
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from polhode.text.terminal import clock, one_line, printable

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: a run could not be finished; the input is wrong; the user interrupted the program."""
LINE_CHARACTERS = 100
"""Prose is not wider than this: longer lines are hard to read."""
PIPE_CHARACTERS = 120
"""The width of tables in a pipe, which has no width of its own."""
BAR_AFTER_SECONDS = 1.0
"""Runs shorter than this show no progress bar: it would vanish before it could be read."""
unprinted: list[str] = []
"""Why the output could not be printed, unless its reader has gone."""


def say(text: object = "", *, err: bool = False) -> None:
    """Prints a text, in which nothing is a command to the terminal.

    If its reader has gone, the program goes on in silence.
    """
    print_text(f"{printable(str(text))}\n", err=err)


def print_text(text: str, *, err: bool = False) -> None:
    try:
        typer.echo(text, nl=False, err=err)
    except OSError as problem:
        silence(problem, err=err)


def silence(problem: OSError, *, err: bool) -> None:
    """Sends the rest of the output nowhere: its reader has gone (`| head`), or the disk is full."""
    if not err and problem.errno != errno.EPIPE:
        unprinted.append(problem.strerror or str(problem))
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
        os.close(nowhere)


def flush() -> None:
    """Prints what is left, before Python itself would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as problem:
            silence(problem, err=stream is sys.stderr)


def stop(message: object, code: int = BAD_INPUT) -> NoReturn:
    say(f"polhode: {message}", err=True)
    raise typer.Exit(code)


def say_field(name: str, value: object) -> None:
    """Prints one line of a description."""
    say(f"{name:9} {one_line(str(value))}")


def echo_json(value: object) -> None:
    import json

    say(json.dumps(value, indent=2))


def print_table(headers: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """Prints a table as wide as the terminal; in a pipe words are folded, and numbers are not."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*headers, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(one_line, row))
    drawn = io.TextIOWrapper(io.BytesIO(), getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace")
    terminal = is_terminal(sys.stdout) or None  # None: as the environment wants it
    width = terminal_width() or _width_in_pipe(headers, rows)
    Console(file=drawn, width=width, force_terminal=terminal, highlight=False, markup=False).print(table)
    drawn.seek(0)
    print_text(drawn.read())


def _width_in_pipe(headers: Sequence[str], rows: Sequence[tuple[str, ...]]) -> int:
    """The width of a table in a pipe: more than usual only if its numbers need it."""
    columns = list(zip(headers, *rows, strict=True))
    widths = [max(map(len, column)) + 3 for column in columns]
    is_words = [any(c.isalpha() and c not in "einfa" for x in column[1:] for c in x) for column in columns]
    return max(PIPE_CHARACTERS, sum(min(w, 20) if words else w for w, words in zip(widths, is_words, strict=True)))


def terminal_width() -> int | None:
    """The width of the terminal, or None in a pipe, where there is no limit."""
    if is_terminal(sys.stdout) or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and bool(stream.isatty())


@contextmanager
def show_progress(name: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yields a function that shows a progress bar once a run turns out to be long, or None where none is shown."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    bar: Any = None
    task: Any = None
    gone = False
    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal bar, task, gone
        spent = time.perf_counter() - began
        if gone or (bar is None and (spent < BAR_AFTER_SECONDS or done == total)):
            return
        rate = done / spent
        shown = {"completed": done, "rate": rate, "left": clock((total - done) / rate)}
        try:
            if bar is None:
                bar = _bar()
                bar.start()
                task = bar.add_task(one_line(name), total=total, **shown)
            bar.update(task, refresh=True, **shown)
        except OSError:  # the terminal was closed: the run goes on
            gone = True

    try:
        yield progress
    finally:
        if bar is not None:
            with suppress(OSError):
                bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:.2g} steps/s, {task.fields[left]} left"),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # the run reports about twenty times a second by itself
    )
