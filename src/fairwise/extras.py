"""The parts of Fairwise that are installed on request, and the words to install them.

``pip install fairwise`` is the learner and the audit. Every other room asks for its extra at the top of its
``__init__``, so that whoever lacks it is told so in one line, in Python and on the command line alike.
"""

from importlib.util import find_spec

from fairwise.errors import MissingExtraError

EXTRAS = {
    "report": ("babel", "jinja2", "matplotlib"),
    "study": (
        *("alembic", "argon2", "babel", "httptools", "itsdangerous", "jinja2", "markdown_it", "nh3", "pydantic"),
        *("prometheus_client", "python_multipart", "segno", "sqlalchemy", "starlette", "tomlkit", "uvicorn"),
    ),
    "bots": ("httpx2",),
    "scale": ("dask", "distributed"),
    "onnx": ("onnx", "skl2onnx"),
}
"""The modules that an extra brings."""


def require(extra: str, what: str) -> None:
    """Refuse if a module of the extra is not there; `what` is what needs it, as the message begins.

    >>> require("report", "A report")
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
        packages = f"{', '.join(missing[:2])}{more}, not installed here"
        raise MissingExtraError(f"{what} needs the extra {extra} ({packages}): pip install 'fairwise[{extra}]'")
