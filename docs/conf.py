"""Sphinx settings of the documentation site: `make docs` writes it to build/site.

The source folder is the checkout itself, so that links from docs/ to CHANGELOG.md, CONTRIBUTING.md
and examples/ are the same on the site and in the repository. What is special lives in `_site/`:
`contents` (the navigation from docs/index.md), `equations` (MathML, no network), `api`
(the Python reference from plain docstrings).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import marsyard

project = "marsyard"
author = "The marsyard developers"
project_copyright = author
release = version = marsyard.__version__

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton",
    "contents", "equations", "api",
]  # fmt: skip

root_doc = "docs/index"
include_patterns = ["docs/**.md", "examples/**.md", "[CR]*.md"]
exclude_patterns = [".*", "build", "runs", "marsyard", "tests", "benchmarks"]
nitpicky = True
highlight_language = "text"
smartquotes_action = "qe"  # quotes and ellipses; --set keeps its dashes
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
today_fmt = "%Y-%m-%d"

# Markdown as GitHub reads it: $…$, anchors of headings, HTML pictures
myst_enable_extensions = ["dollarmath", "html_image", "strikethrough"]
myst_heading_anchors = 4
myst_links_external_new_tab = True
myst_update_mathjax = False

html_theme = "furo"
html_title = "marsyard"
html_baseurl = ""
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_site/static"]
html_css_files = ["marsyard.css"]
html_extra_path = ["_site/extra"]
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#a63c14",
        "color-brand-content": "#a63c14",
    },
    "dark_css_variables": {
        "color-brand-primary": "#f0915c",
        "color-brand-content": "#f0915c",
    },
}
pygments_style = "default"
pygments_dark_style = "github-dark"
