"""What is remembered from one call to the next changes no later result, to the bit (docs/decisions/notes/caches.md)."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polhode
from tests.contract.alone import GROUPS

LONG = ["tolerances", "sizes"]
"""Groups that compile for 20 s where nothing is kept."""
SHORT = [group for group in GROUPS if group not in LONG]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every call needs a process of its own, which fork makes cheap")
@pytest.mark.parametrize("groups", [SHORT, pytest.param(LONG, marks=pytest.mark.evidence)])
def test_a_call_after_another_is_the_call_in_a_process_of_its_own(groups: list[str]) -> None:
    command = [sys.executable, "-m", "tests.contract.alone", *groups]
    there = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=there, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == set(groups)
    for group in found.values():
        assert group["calls"] > 3
        assert group["differences"] == []


def caches(tree: ast.Module) -> Iterator[str]:
    """Yields the functions and methods of a module whose values are kept by a decorator."""

    def keeps(node: ast.expr) -> bool:
        called = node.func if isinstance(node, ast.Call) else node
        return isinstance(called, ast.Name) and called.id in ("cache", "lru_cache", "cached_property")

    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(map(keeps, node.decorator_list)):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            methods = [x for x in node.body if isinstance(x, ast.FunctionDef) and any(map(keeps, x.decorator_list))]
            yield from (f"{node.name}.{x.name}" for x in methods)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and keeps(node.value.func):
            yield ast.unparse(node.targets[0])


def test_every_cache_is_listed_with_its_key() -> None:
    source, listed = Path(polhode.__file__).parent, dict[str, set[str]]()
    page = (Path(__file__).parents[2] / "docs/decisions/notes/caches.md").read_text("utf-8")
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    for part in "; ".join(cells).split("; "):
        if found := re.match(r"(?:\| )?`([\w/]+\.py)`: (.*)", part):
            file = found[1]
            listed.setdefault(file, set()).update(re.findall(r"`([\w.]+)`", found[2].partition(" (by hand")[0]))
    for path in sorted(source.rglob("*.py")):
        file, there = path.relative_to(source).as_posix(), set(caches(ast.parse(path.read_text("utf-8"))))
        assert there <= listed.get(file, set()), f"{file}: say on the page what these are kept by"
        kept_by_hand = {name for name in listed.get(file, set()) - there if is_kept_by_hand(path, name)}
        assert listed.get(file, set()) - there == kept_by_hand, f"{file}: these are listed, but not there"


def is_kept_by_hand(path: Path, name: str) -> bool:
    """Whether a module has a memory of this name that no decorator makes."""
    last = name.rpartition(".")[2]
    return re.search(rf"\b{last}\b(: .*)? = |^class {last}\b", path.read_text("utf-8"), re.MULTILINE) is not None
