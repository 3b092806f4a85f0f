"""The documentation site: `make docs` builds it without the network, and any warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

import fairwise

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Fairwise"
release = version = fairwise.__version__
copyright = "Fairwise contributors"  # noqa: A001 - Sphinx's name

extensions = [
    "mathml",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", *(f"gallery/plot_*.{ending}" for ending in ("ipynb", "json", "py", "zip"))]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests run the notebook; the page shows it as it was saved

autodoc_member_order = "bysource"
autodoc_mock_imports = ["mlflow"]  # its versions of other packages exclude those of dask
autodoc_typehints = "none"  # docstrings say what an argument may be in words
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # types are words here, and "columns" is no link
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_\w+\.py$",
    "ignore_pattern": r"make_\w+\.py$",
    "copyfile_regex": r".*\.csv|(paper_study|polars_to_onnx)\.ipynb",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its tables fetch a script from elsewhere
    "min_reported_time": 3600,  # how long this machine took says nothing to readers
    "plot_gallery": "True",
}

html_theme = "furo"
html_title = "Fairwise"
html_static_path = ["_static"]
html_css_files = ["fairwise.css"]
html_copy_source = False
html_math_renderer = "mathml"
