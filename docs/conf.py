"""The documentation site: `make docs` builds it into build/site, and looks at every warning as an error."""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
os.environ["POLHODE_QUIET"] = "1"  # compilations are announced on terminals, not in pages

logging.getLogger("traitlets").setLevel(logging.WARNING)

import kernel  # noqa: E402
from sphinx.pycode import ModuleAnalyzer  # noqa: E402

import polhode  # noqa: E402

kernel.register(HERE.parent / "build" / "jupyter")

project = "polhode"
author = "The polhode developers"
copyright = "The polhode developers"
version = release = polhode.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "docstrings",
    "executed_blocks",
    "generated_parts",
    "local_files",
    "outside",
    "viewers",
]
exclude_patterns = [
    *("_ext", "_templates", "gallery", "**/sg_execution_times.rst", "sg_execution_times.rst"),
    *(f"pictures/**.{ending}" for ending in ("ipynb", "json", "py", "zip")),
]
templates_path = ["_templates"]

# Markdown, and the programs in it (_ext/executed_blocks.py)
myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 1200  # in s: on a busy machine with an empty cache compilations take minutes
nb_execution_show_tb = True
nb_output_stderr = "show"
nb_ipywidgets_js = {}
nb_merge_streams = True
suppress_warnings = [
    "ref.python",  # an attribute that several classes have is linked to one of them
]

# The API, from docstrings
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
# Overloads would show the arguments of an ensemble as `**asked`; its signature has each with its type.
for module in ("polhode.api.ensemble", "polhode.api.plan"):
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    analyzer.overloads.clear()
napoleon_google_docstring = False
napoleon_use_rtype = False

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["pictures"],
    "filename_pattern": r"/\w+\.py$",
    "backreferences_dir": "pictures/uses",
    "doc_module": ("polhode",),
    "reference_url": {"polhode": None},
    "inspect_global_variables": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
    "image_scrapers": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": True,
    "capture_repr": ("_repr_html_",),
}

# Literature
bibtex_bibfiles = ["../src/polhode/references.bib"]
bibtex_default_style = "plain"

# Nothing in a page is asked from another host: what sets mathematics comes with the site (_ext/local_files.py).
mathjax_path = "mathjax/tex-svg-full.js"
html_theme = "furo"
html_title = f"polhode {version}"
html_static_path = ["_static"]
html_css_files = ["polhode.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
