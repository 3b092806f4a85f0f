"""Templates of all pages: compiled once for a process, and what many pages share made once for a study."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from jinja2.bccache import Bucket

    from fairwise.study.languages import Language


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
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        bytecode_cache=_compiled(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"prefix": prefix, "static": static_addresses(prefix)}
    if spoken is not None:
        environment.policies["ext.i18n.trimmed"] = True
        environment.add_extension("jinja2.ext.i18n")
        environment.install_gettext_translations(spoken.catalogue, newstyle=True)  # type: ignore[attr-defined]
    return environment


class _Compiled(BytecodeCache):
    """Templates are compiled once in a process: for every language, study and preview they are the same."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


@cache
def _compiled() -> _Compiled:
    return _Compiled()


class Pieces:
    """Parts of the page of a pair that many pages have in common, each made once and kept."""

    def __init__(self, environment: Environment) -> None:
        made: Any = environment.get_template("pieces.html").module
        self.card = lru_cache(MOST_KEPT)(made.card)
        self.rows = made.rows
        self.buttons = lru_cache(made.buttons)
        self.meanings = lru_cache(made.meanings)
