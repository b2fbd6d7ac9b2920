"""What goes with a release agrees with the package: versions, dependencies, examples, notebooks, the demo."""

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from benchmarks import grammar
from docs.check_site import faults

import polhode
from docs import make_notebooks

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_versions_agree() -> None:
    assert f"\nversion: {polhode.__version__}\n" in text("CITATION.cff")
    assert json.loads(text(".zenodo.json"))["version"] == polhode.__version__
    for counted in ("accuracy", "reliability"):  # claims: tests/papers/test_reproduction.py
        assert json.loads(text(f"docs/evidence/{counted}.json"))["polhode"] == polhode.__version__
    assert f'  version: "{polhode.__version__}"\n' in text("packaging/conda/recipe.yaml")


def test_counts_of_estimates_say_which_code_they_are_of() -> None:
    """A change of the code that states errors makes the page say that its counts are older."""
    kept = json.loads(text("docs/evidence/accuracy.json"))
    said = grammar.table(kept["families"], kept["code"])
    assert said in text("docs/evidence/accuracy.md"), "run: python -m benchmarks.grammar --write"


def test_the_paper_says_what_is_known() -> None:
    """What it cites is in the literature, and its counts are those of the pages of evidence."""
    paper = " ".join(text("paper/paper.md").split())
    for key in re.findall(r"@(\w+)", paper):
        assert f"{{{key}," in text("src/polhode/references.bib"), key
    counted = text("docs/evidence/accuracy.md") + text("README.md") + text("docs/evidence/engines.md")
    counts = re.findall(r"[\d,]{2,} of [\d,]+|\d+ motions|\d\.\d times as fast", paper)
    assert len(counts) == 4
    for count in counts:
        assert count in " ".join(counted.split()), count


def test_the_page_for_language_models_leads_somewhere() -> None:
    links = re.findall(r"\]\((\S+)\)", text("llms.txt"))
    assert len(links) > 5
    assert all((ROOT / link).is_file() for link in links)


def test_the_recipe_has_the_dependencies() -> None:
    needed = tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]
    recipe = text("packaging/conda/recipe.yaml").replace("matplotlib-base", "matplotlib").replace(" ", "")
    for requirement in needed:
        assert f"-{requirement}\n" in recipe, requirement


@pytest.mark.parametrize("page", make_notebooks.PAGES)
def test_notebooks_are_their_pages(page: str) -> None:
    place = make_notebooks.place(page)
    assert place.read_text("utf-8") == make_notebooks.notebook(page), "run: python -m docs.make_notebooks"


def cells(page: str) -> list[str]:
    made = json.loads(make_notebooks.place(page).read_text("utf-8"))
    assert (made["nbformat"], made["metadata"]["kernelspec"]["name"]) == (4, "python3")
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    return ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]


def run(page: str) -> dict[str, Any]:
    """Runs the cells of a notebook, but for those of the shell, which tests/cli/test_examples.py runs."""
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": page}
    for cell in cells(page):
        if not cell.startswith("%%"):
            exec(compile(cell, page, "exec"), names)
    plt.close("all")
    return names


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("drawn", "plain")
def test_the_lesson() -> None:
    """The handout's tasks: each is done twice, and both agree."""
    names = run("start/student.md")
    np = names["np"]
    assert np.abs(names["jacobi"](names["t"]) - names["exact"]).max() < 1e-12
    assert np.abs(names["s"].omega - names["by_splitting"]).max() < 1e-12
    error = names["energy_error"]
    assert -9 < error(names["by_rk4"])[-1] < -8
    assert -5 < error(names["by_splitting"]).max() < -4


@pytest.mark.usefixtures("drawn")
def test_the_asteroid() -> None:
    names = run("start/asteroid_observer.md")
    assert abs(names["frequency"][names["power"].argmax()] - names["f_phi"]) < 0.01
    late = names["np"].median(names["angle"], axis=0)
    assert late[30] < 10 < late[365]


@pytest.mark.usefixtures("drawn")
@pytest.mark.evidence
@pytest.mark.parametrize("page", [p for p in make_notebooks.PAGES if "student" not in p and "asteroid" not in p])
def test_the_other_notebooks(page: str) -> None:
    run(page)


def test_the_demo_is_an_example() -> None:
    made = ast.get_docstring(ast.parse(text("examples/demo.py"))) or ""
    assert made.startswith("What polhode does")
    assert "examples/demo.py" in text("Makefile")


def test_faults_of_a_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><iframe src="b.html#play"></iframe><a href="b.html#there">b</a><a href="gone.html">c</a><a href="https://example.org">d</a>'
        '<script src="https://example.org/x.js"></script><style>@import "//example.org/y.css";</style>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="here">B</p><a href="a.html#top">a</a><img src="none.png">&lt;matplotlib.legend.Legend at 0x7f&gt;'
    )
    (tmp_path / "c.css").write_text("p { background: url(https://example.org/z.png) }")
    wrong, others = faults(tmp_path)
    said = "\n".join(wrong)
    assert len(wrong) == 7
    for part in ("b.html#there", "gone.html", "x.js", "y.css", "none.png", "z.png", "Legend"):
        assert part in said
    assert others == {"https://example.org"}


def test_no_block_ends_in_what_a_drawing_returns() -> None:
    """A page would print it, as in "Text(0, 0.5, 'relative magnitude')"; a semicolon at the end prevents that."""
    drawing = {"legend", "semilogy", "loglog", "xlabel", "ylabel", "title", "hist", "set_xlabel", "set_ylabel"}
    blocks = [
        (page.name, block)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    ]
    assert len(blocks) > 100
    for name, block in blocks:
        match ast.parse(block).body[-1:]:
            case [ast.Expr(ast.Call(ast.Attribute(attr=called)))] if called in drawing:
                assert block.rstrip().endswith(";"), f"{name}: {called}"


def test_every_section_takes_in_new_pages() -> None:
    for section in ("start", "howto", "understand", "reference", "evidence"):
        assert re.search(r":glob:\n(.*\n)*\*\n", text(f"docs/{section}/index.md"))


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("detumble", "detumble"), ("B-dot", "detumble"), ("momentum dumping", "detumble"),
        ("jet damping", "changing_bodies"), ("light curve", "fit"), ("MEKF", "sensors"),
        ("Dzhanibekov", "../understand/free_motion"), ("Q", "small_bodies"),
    ],
)  # fmt: skip
def test_words_of_the_trade_lead_to_the_page_that_has_it(words: str, page: str) -> None:
    """The search of the site looks for the words of a query in the text of pages."""
    found = set(re.findall(r"\w+", text(f"docs/howto/{page}.md").lower()))
    assert set(re.findall(r"\w+", words.lower())) <= {w.removesuffix("s") for w in found} | found
    assert words.lower() in text("docs/reference/trade_words.md").lower()
