"""The cards of methods, and the page and the literature that go with them."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from docs import make_methods
from polhode import Solution, methods
from polhode.kernels.types import Depends
from polhode.methods import Keeps, Method
from polhode.scenario import load_scenario
from polhode.text import cards
from polhode.text.references import citation, entries, plain

SCENARIO = """
[body]
moments = [2.0, 3.0, 4.0]
[initial]
omega = [0.3, 3.0, 0.2]
"""
TORQUE = '[torque]\nmodel = "HeavyTop"\nweight = 5.0\n'


@pytest.fixture(params=list(methods.catalogue().values()), ids=list(methods.catalogue()))
def method(request: pytest.FixtureRequest) -> Method:
    chosen: Method = request.param
    return chosen


def blocks(card: str) -> tuple[str, str]:
    """The two examples of a card: the indented text below their headings."""
    found = re.search(r"^In Python\n\n(.*)\n\nIn a scenario file\n\n(.*)", card, re.MULTILINE | re.DOTALL)
    assert found
    python, table = (re.sub("^    ", "", text, flags=re.MULTILINE) for text in found.groups())
    return python, table


def test_the_python_example_runs(
    method: Method, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    python, _ = blocks(cards.method_card(method, 100))
    names: dict[str, Any] = {}
    exec(compile(python, method.name, "exec"), names)
    motion = names["motion"]
    assert isinstance(motion, Solution)
    assert motion.success
    assert motion.method == method.name
    assert bool(motion.torque.depends) == bool(method.accepts)
    assert method.name in capsys.readouterr().out


def test_the_run_table_is_that_of_a_scenario(method: Method, tmp_path: Path) -> None:
    _, table = blocks(cards.method_card(method, 100))
    path = tmp_path / "example.toml"
    path.write_text(SCENARIO + (TORQUE if method.accepts else "") + table)
    scenario = load_scenario(path)
    assert scenario.method is method
    assert scenario.t_span == (0.0, 1.0)


def test_cards_say_what_is_declared(method: Method) -> None:
    card = cards.method_card(method, 80)
    assert max(map(len, card.splitlines())) <= 80
    text = " ".join(card.split())
    assert card.startswith(f"{method.name}: ")
    assert " ".join(method.summary.split()) in text
    assert " ".join(method.about.split()) in text
    assert all(f"[{key}]" in text for key in method.cite.split(","))
    assert all(f"{option.name}={cards.written(option.default)}" in card for option in method.options)
    assert re.search(r"accepts +(free bodies only|torques that depend on )", card)
    assert cards.flags(method.keeps_when_free) in text


def test_a_card_of_a_variant() -> None:
    card = cards.method_card(methods.find("MR2(axes=231)"), 100)
    assert card.startswith("MR2(axes=231): ")
    assert re.search(r"^  axes=231  .*\(default 123\)", card, re.MULTILINE | re.DOTALL)
    assert "Rotations about one body axis after the other" in card
    python, table = blocks(card)
    assert 'method="MR2(axes=231)"' in python
    assert 'method = "MR2(axes=231)"' in table


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("MR2", {"order": "momentum 2, attitude 2", "torque evaluations": "1 a step, and 1 at the start"}),
        ("RK4", {"torque evaluations": "4 a step", "keeps when free": "nothing"}),
        ("SABA4", {"torque evaluations": "4 a step"}),
        ("Exact", {"order": "exact", "accepts": "free bodies only"}),
        ("DOP853", {"torque evaluations": "varies from step to step"}),
        ("SS", {"torque evaluations": "1 in 2 steps, and 1 at the start"}),
        ("PDMV10", {"order": "momentum 2, attitude 2; of a free body momentum 10, attitude 10"}),
    ],
)
def test_facts(name: str, facts: dict[str, str]) -> None:
    found = cards.method_facts(methods.find(name))
    assert {key: found[key] for key in facts} == facts


def test_a_generalised_order_is_explained() -> None:
    text = cards.method_facts(methods.find("ABA864"))["generalised order"]
    assert text.startswith("8, 6, 4: ")
    assert text.endswith("eps h^8 + eps^2 h^6 + eps^3 h^4")


def test_letters() -> None:
    row = dict(
        zip(
            ("method", "order", "free", "keeps", "keeps_free", "takes"),
            cards.method_row(methods.find("MR2")),
            strict=False,
        )
    )
    assert row == {
        "method": "MR2", "order": "2/2", "free": "", "keeps": "SR---A", "keeps_free": "SR-NM-", "takes": "qt-g-"
    }  # fmt: skip
    assert set(cards.LETTERS) == set(Keeps)
    assert set(cards.READS) == set(Depends)


@pytest.mark.parametrize(
    ("name", "cost"),
    [("MR2", "1+5f"), ("MR4", "3+15f"), ("RK4", "4"), ("Exact", "1f"), ("AKW", "*"), ("SS", "0.5+2.5f")],
)
def test_costs(name: str, cost: str) -> None:
    assert cards.cost(methods.find(name)) == cost


def test_every_method_has_one_family() -> None:
    listed = [method.name for family in cards.families() for method in family.members]
    assert sorted(listed) == sorted(methods.catalogue())
    home = {method.name: family.name for family in cards.families() for method in family.members}
    assert home["MR2"] == "axes"  # others import it
    assert home["Strang"] == "exact"
    assert home["DOP853"] == home["HLR"] == "variable"


def test_the_newcomers_list() -> None:
    chosen = [name for choices in methods.START_HERE.values() for name in choices]
    assert 18 <= len(chosen) <= 22, "about twenty: who adds one takes one away"
    assert len({methods.find(name).name for name in chosen}) == len(chosen)
    assert all(methods.package(methods.find(name).bare_name) is None for name in chosen)
    sentences = [when for choices in methods.START_HERE.values() for when in choices.values()]
    assert all(when.endswith(".") for when in sentences)
    assert len(set(sentences)) == len(sentences)
    first = [next(iter(choices)) for choices in methods.START_HERE.values()]
    assert first == ["Exact", "MR2", "Strang(corrector=17)", "G8", "RK4", "DOP853", "SEJ"]


@pytest.mark.parametrize("width", [60, 110, None])
def test_the_newcomers_table_fits(width: int | None) -> None:
    table = cards.start_table(width)
    if width is not None:
        assert max(map(len, table.splitlines())) <= width
    text = " ".join(table.split())
    for choices in methods.START_HERE.values():
        for name, when in choices.items():
            assert name in text
            assert width == 60 or when.replace("`", "")[:20] in text


def test_the_pages_are_up_to_date() -> None:
    pages = make_methods.pages()
    there = {make_methods.REFERENCE / "methods.md", *(make_methods.REFERENCE / "methods").glob("*.md")}
    assert {place: place.read_text("utf-8") for place in there} == pages, "run: python -m docs.make_methods"


# --- the literature


def test_the_package_has_its_references() -> None:
    root = Path(__file__).parents[2] / "references.bib"
    assert (files("polhode") / "references.bib").read_bytes() == root.read_bytes()
    assert len(entries()) == len(re.findall(r"^@\w+\{", root.read_text("utf-8"), re.MULTILINE))


def test_citations_are_readable() -> None:
    for key in entries():
        text = citation(key)
        assert not set(text) & set("{}\\~"), text
        assert text.endswith(f" [{key}]")
        assert len(text) > len(key) + 30
    assert citation("celledoni2006") == (
        "Elena Celledoni and Niklas Säfström (2006). Efficient time-symmetric simulation of torqued rigid bodies using "
        "Jacobi elliptic functions. Journal of Physics A: Mathematical and General 39, 5463–5478. [celledoni2006]"
    )
    assert citation("nobody1900") == "nobody1900 (not in references.bib)"


def test_tex_becomes_plain() -> None:
    assert plain(r"{\v D}urech, S{\"a}fstr{\"{o}}m, N{\o}rsett, Nystr\"om, {\c c}, {\'\i}, 1--2, A \& B") == (
        "Ďurech, Säfström, Nørsett, Nyström, ç, í, 1\u20132, A & B"
    )
