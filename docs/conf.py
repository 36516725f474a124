"""How Sphinx builds the site: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import treewarden  # noqa: E402  # found by the line before

project = "treewarden"
author = "the authors of treewarden"
version = release = treewarden.__version__
html_title = f"treewarden {version}"

extensions = [
    "docs._ext.reference",
    "docs._ext.offline",
    "docs._ext.accessible",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
exclude_patterns = ["_ext", "**/.ipynb_checkpoints"]

# Links to headings, as repositories show them too, and tables of contents made of whatever stands in a folder.
myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
smartquotes = False  # "--k" is an option, not a dash

# A notebook is run where it has no outputs, without a network, and a cell that fails ends the build.
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autodoc_member_order = "bysource"
autodoc_class_signature = "separated"  # results are made by functions
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
