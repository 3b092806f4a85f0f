"""Templates of all pages, and what many pages share made once for a study."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairwise import templates
from fairwise.study.languages import Language

if TYPE_CHECKING:
    from jinja2 import Environment


# The style and the script that pages name: read once, and named by their content so that browsers may keep them.

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@cache
def read_static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every style and script under ``static/``, by name."""
    kept = [(file, file.name.rpartition(".")[2]) for file in files("fairwise.web.shared").joinpath("static").iterdir()]
    return {file.name: (file.read_bytes(), _MEDIA_TYPES[kind]) for file, kind in kept if kind in _MEDIA_TYPES}


def version_of(content: bytes) -> str:
    """What ``?v=`` says: it changes whenever the file does, so an old copy is never shown."""
    return hashlib.sha256(content).hexdigest()[:12]


def static_addresses(prefix: str) -> dict[str, str]:
    """Where browsers find every one of these files, by name."""
    return {
        name: f"{prefix}/static/{name}?v={version_of(content)}" for name, (content, _) in read_static_files().items()
    }


# Cards that are kept as HTML, some kilobytes each.
MOST_KEPT = 2000


def templates_of(package: str, prefix: str, spoken: Language | None = None) -> Environment:
    """Return the templates of a package, escaped by default, and in a language if one is given."""
    environment = templates.environment(package)
    environment.globals |= {"prefix": prefix, "static": static_addresses(prefix)}
    if spoken is not None:
        environment.policies["ext.i18n.trimmed"] = True
        environment.add_extension("jinja2.ext.i18n")
        environment.install_gettext_translations(spoken.catalogue, newstyle=True)  # type: ignore[attr-defined]
    return environment


class Pieces:
    """Parts of the page of a pair that many pages have in common, each made once and kept."""

    def __init__(self, environment: Environment) -> None:
        made: Any = environment.get_template("pieces.html").module
        self.card = lru_cache(MOST_KEPT)(made.card)
        self.rows = made.rows
        self.buttons = lru_cache(made.buttons)
        self.meanings = lru_cache(made.meanings)
