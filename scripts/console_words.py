"""Bring the catalogues of the console up to date with its words: `python scripts/console_words.py`.

What is new is there without a translation, what is gone is taken out. The words are those of the console's templates
and code, and those of settings, choices and flags that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

import fairwise
from fairwise.store.schema import JOB_STATES, ROLES
from fairwise.study.deliberation import Deliberation
from fairwise.study.design import OFFERED_KINDS, Amount, Arm, Decision, Design, OutcomeWords
from fairwise.study.fit_choices import ESTIMATORS, FitChoices
from fairwise.study.quality import EVIDENCE, EXPLAINED, NAMES, WORDS
from fairwise.study.questions import Question
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.settings import AnswerWords, ShownColumn, StudySettings
from fairwise.study.toml import Input
from fairwise.tables.files import DECIMALS
from fairwise.tables.parsing import SEPARATORS
from fairwise.web.shared.progress import STATES

CONSOLE = Path(fairwise.__file__).parent / "web" / "console"
HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: {plurals}\\n"

"""
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None}


def words() -> Iterator[str | tuple[str, str]]:
    """Everything that the console says, plural forms as two."""
    with (CONSOLE / "locale" / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file, "babel.cfg")  # type: ignore[no-untyped-call]
    for _, _, text, _, _ in extract_from_dir(CONSOLE, methods, options, KEYWORDS):
        if text:
            yield text  # type: ignore[misc]
    yield from _of_settings()
    for named in (NAMES, EXPLAINED, EVIDENCE, WORDS, STATES, SEPARATORS, DECIMALS):
        yield from named.values()
    for kind in (*OFFERED_KINDS, "uniform"):
        yield from {kind, kind.removesuffix("s")}
    yield from (*ROLES, *JOB_STATES)
    for pair in ESTIMATORS.values():
        yield from pair


def _of_settings() -> Iterator[str]:
    for table in (
        StudySettings,
        Design,
        Deliberation,
        Recruitment,
        AnswerWords,
        Decision,
        Amount,
        OutcomeWords,
        Relation,
        Arm,
        Question,
        ShownColumn,
        FitChoices,
    ):
        for info in table.model_fields.values():
            asked = next((one for one in info.metadata if isinstance(one, Input)), Input())
            yield from filter(None, (info.title, asked.hint, *(asked.options or {}).values()))


def main() -> None:
    """Write every catalogue anew."""
    for file in (CONSOLE / "locale").glob("*/LC_MESSAGES/messages.po"):
        with file.open("rb") as opened:
            old = read_po(opened, file.parts[-3])
        new = Catalog(locale=old.locale, charset="utf-8", fuzzy=False)
        for text in dict.fromkeys(words()):
            known = old.get(text)
            new.add(text, known.string if known else None)
        with file.open("wb") as opened:
            opened.write(HEADER.format(language=old.locale, plurals=old.plural_forms).encode())
            write_po(opened, new, width=120, omit_header=True, sort_output=True)


if __name__ == "__main__":
    main()
