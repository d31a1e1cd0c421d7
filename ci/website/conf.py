"""Sphinx's settings; build.py calls it."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(next(p for p in Path(__file__).resolve().parents if (p / "ci" / "docs.py").exists()) / "ci"))
from website.words import escaped

project = "torch"
author = "the contributors"
project_copyright = "the contributors; BSD-3-Clause"
release = str(torch.__version__)
html_title = f"torch {release.partition('+')[0]}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "py:obj"  # `name` in a docstring: a link where there is such a name, else only the name
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False  # what every module can do stands with Module
autodoc_docstring_signature = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 100
add_module_names = True
toc_object_entries_show_parents = "hide"
exclude_patterns = ["_files"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("search.js"))  # Sphinx looks for it where it was started
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.output) > div.highlight > pre"
pygments_style = "friendly"


def setup(app):
    def process(app, what, name, obj, options, lines):
        lines[:] = escaped("\n".join(lines)).split("\n")

    app.connect("autodoc-process-docstring", process, priority=600)  # after napoleon
