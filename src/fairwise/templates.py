"""Templates of pages and reports: escaped, compiled once in a process, and an unknown name in one is an error."""

from __future__ import annotations

from functools import cache
from gettext import NullTranslations

from jinja2 import BytecodeCache, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket


def environment(
    *packages: str, trim: bool = True, html: bool = True, catalogue: NullTranslations | None = None
) -> Environment:
    """Return the templates in ``templates/`` of these packages; of two with one name the first package's.

    With ``trim`` a line that holds only a tag leaves no empty line. ``html`` says whether values are escaped. With a
    ``catalogue`` templates may have words to translate.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=html,  # noqa: S701 - for pages it is on: names of people and columns are anybody's text
        undefined=StrictUndefined,
        auto_reload=False,
        bytecode_cache=_compiled(trim, html),
        trim_blocks=trim,
        lstrip_blocks=trim,
        keep_trailing_newline=not html,
    )
    if catalogue is not None:
        made.policies["ext.i18n.trimmed"] = True
        made.add_extension("jinja2.ext.i18n")
        made.install_gettext_translations(catalogue, newstyle=True)  # type: ignore[attr-defined]
    return made


class _Compiled(BytecodeCache):
    """What was compiled in this process: for every language, study and preview a template is the same."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


@cache
def _compiled(_trim: bool, _html: bool) -> _Compiled:  # what a template is compiled to depends on both
    return _Compiled()
