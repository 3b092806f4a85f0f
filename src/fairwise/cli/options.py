"""Options that several commands share, and the texts that users write behind them."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

import typer
from typer import Argument, Option

from fairwise.errors import InputError
from fairwise.learning.settings import PARITIES, MaxThresholds

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments
    from fairwise.judgments.files import Account
    from fairwise.store.store import Store

Parsed = TypeVar("Parsed")
_MOST_VALUES = 10_000
_PAIR_KINDS = {kind: kind for kind in ("uniform", "fixed", "stratified", "anchors", "repeats", "checks", "active")}
_PAIR_KINDS |= {"anchor": "anchors", "repeat": "repeats", "check": "checks"}


def parse_option(option: str, parse: Callable[[str], Parsed], text: str) -> Parsed:
    """Parse the text of an option; an error names the option."""
    try:
        return parse(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint=f"'{option}'") from None


def typed_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were typed."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


def fractions(text: str) -> tuple[float, ...]:
    """Return numbers from 0 to 1, sorted, each once; a range includes both its ends.

    >>> fractions("0:1:0.25")
    (0.0, 0.25, 0.5, 0.75, 1.0)
    >>> fractions("0.3, 0, 0.1:0.2:0.05")
    (0.0, 0.1, 0.15, 0.2, 0.3)
    """
    values = _numbers(text)
    for value in values:
        if not 0 <= value <= 1:
            raise typer.BadParameter(f"{value} is not a number from 0 to 1.")
    return tuple(float(value) for value in values)


def sizes(text: str) -> tuple[int, ...]:
    """Return whole numbers from 1, sorted, each once.

    >>> sizes("20,100:300:100")
    (20, 100, 200, 300)
    """
    values = _numbers(text)
    for value in values:
        if value < 1 or value != value.to_integral_value():
            raise typer.BadParameter(f"{value} is not a whole number from 1.")
    return tuple(int(value) for value in values)


def _numbers(text: str) -> list[Decimal]:
    """Return the numbers as decimals, so that the third tenth is 0.3."""
    values: set[Decimal] = set()
    for part in text.split(","):
        ends = [_decimal(word, text) for word in part.split(":")]
        if len(ends) == 1:
            values.add(ends[0])
        elif len(ends) == 3:
            start, stop, step = ends
            if step <= 0 or stop < start:
                raise typer.BadParameter(f"{part.strip()!r}: a range goes up, from:to:step with a step above 0.")
            steps = (stop - start) / step
            if steps > _MOST_VALUES:
                raise typer.BadParameter(
                    f"{part.strip()!r}: that is {steps:.0f} values; at most {_MOST_VALUES} are allowed."
                )
            values |= {*(start + step * i for i in range(int(steps) + 1)), stop}
        else:
            raise typer.BadParameter(f"{part.strip()!r}: write from:to:step such as 0:1:0.1, or numbers with commas.")
    return sorted(values)


def _decimal(word: str, text: str) -> Decimal:
    try:
        value = Decimal(word.strip())
    except InvalidOperation:
        raise typer.BadParameter(f"{word.strip()!r} in {text!r} is not a number.") from None
    if not value.is_finite() or abs(value.adjusted()) > 30:
        raise typer.BadParameter(f"{word.strip()!r} in {text!r} is not a number that can be used here.")
    return value


def names(text: str) -> tuple[str, ...]:
    """Return names of columns.

    >>> names("race, sex")
    ('race', 'sex')
    """
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def mixture(text: str) -> dict[str, int]:
    """Return how many pairs of each kind are wanted, under the names of the settings.

    >>> mixture("28 uniform, 6 anchors, 1 repeat")
    {'uniform': 28, 'anchors': 6, 'repeats': 1}
    """
    numbers: dict[str, int] = {}
    for part in names(text):
        number, _, kind = part.partition(" ")
        kind = _PAIR_KINDS.get(kind.strip().lower(), "")
        if not kind or not number.isascii() or not number.isdigit():
            allowed = ", ".join(dict.fromkeys(_PAIR_KINDS.values()))
            raise typer.BadParameter(f"{part!r}: write a number and a kind, such as 6 anchors. Kinds: {allowed}.")
        if kind in numbers:
            raise typer.BadParameter(f"{kind} in {text!r} is there twice.")
        numbers[kind] = int(number)
    return numbers


def budget(text: str) -> float | None:
    """Return a budget: a number from 0 to 1, or none at all.

    >>> budget("none") is None, budget("0.05")
    (True, 0.05)
    """
    text = str(text).strip().lower()  # the default is a number
    return None if text == "none" else fraction(text)


def thresholds(text: str) -> MaxThresholds:
    """Return the number of thresholds that a column of a tree may have; None stands for all.

    >>> thresholds("16"), thresholds("all"), thresholds("auto")
    (16, None, 'auto')
    """
    match text.strip().lower():
        case "all":
            return None
        case "auto":
            return "auto"
        case number if number.isdecimal() and int(number) > 0:
            return int(number)
    raise typer.BadParameter(f"{text!r} is not a whole number of at least 1, auto or all.")


def fraction(text: str) -> float:
    """Return a number from 0 to 1."""
    return _number_up_to(1, text)


def _number_up_to(most: float, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most or math.isinf(value):
        raise typer.BadParameter(f"{text!r} is not a number from 0 {'to 1' if most == 1 else 'up'}.")
    return value


@dataclass(frozen=True)
class GroupRuleOption:
    """A rate, how much it may differ, and the columns of the groups; of amounts, the mean error and its limit."""

    moment: str
    bound: float
    columns: tuple[str, ...]


def group_rule(text: str) -> GroupRuleOption:
    """Return a rule for groups.

    >>> group_rule("fpr:0.02:race+sex")
    GroupRuleOption(moment='fpr', bound=0.02, columns=('race', 'sex'))
    """
    moment, _, rest = text.partition(":")
    bound, _, columns = rest.partition(":")
    if moment not in PARITIES:
        raise typer.BadParameter(f"{moment!r} in {text!r} is not a rate. Allowed: {', '.join(PARITIES)}.")
    if not columns.strip():
        raise typer.BadParameter(f"{text!r}: write rate:bound:column, such as fpr:0.02:race.")
    limit = _number_up_to(math.inf, bound) if moment == "error" else _number_up_to(1, bound)
    return GroupRuleOption(moment, limit, tuple(part.strip() for part in columns.split("+") if part.strip()))


BOUND_HELP = "How far two people's chances may differ against a judgment, 0 to 1."
EXCESS_HELP = "How much mean excess over gamma the panel may suffer, 0 to 1; none for no limit."


def gamma_option(panel: str) -> Any:
    """Return the option ``--gamma`` for this panel of the help."""
    return Option("--gamma", help=BOUND_HELP, parser=fraction, metavar="NUMBER", rich_help_panel=panel)


def eta_option(panel: str) -> Any:
    """Return the option ``--eta`` for this panel of the help."""
    return Option("--eta", help=EXCESS_HELP, parser=budget, metavar="NUMBER|none", rich_help_panel=panel)


people_option = partial(Option, rich_help_panel="People")
PeoplePath = Annotated[Path, people_option("--people", help="Table of people, one row each: .csv, .parquet or .xlsx.")]
IdColumn = Annotated[str, people_option("--id", help="Column with each person's id.")]


NumericColumns = Annotated[
    str,
    people_option(
        "--numeric", help="Columns to read as numbers; whatever else stands there is missing.", metavar="COLUMNS"
    ),
]
NaValues = Annotated[
    str,
    people_option("--na-values", help="Cells that mean a missing value, in any column: ?,unknown.", metavar="VALUES"),
]

LOCAL_ADDRESS = "http://127.0.0.1:8000"
StudyArgument = Annotated[Path, Argument(metavar="DIR", help="The study.")]
DatabaseOption = Annotated[
    str | None, Option("--database", help="As given to serve; without it SQLite in DIR.", metavar="URL")
]
NewDatabaseOption = Annotated[
    str | None, Option("--database", help="postgresql://…; without it SQLite in DIR.", metavar="URL")
]
UrlOption = Annotated[str, Option("--url", help="Where participants reach the study: https://….", metavar="URL")]


@contextmanager
def study_store(
    folder: Path, database: str | None, *, none_means: str = "", before_study: bool = False
) -> Iterator[Store]:
    """Open the database of a study, or with ``before_study`` of a folder in which the console will make one.

    A new one is made if there is none, unless ``none_means`` says what that means.
    """
    from fairwise.store.places import database_of
    from fairwise.store.store import Store
    from fairwise.study.folder import SETTINGS, StudyFolder

    is_there = not before_study or (folder / SETTINGS).exists()
    fingerprint, where = StudyFolder.open(folder).fingerprint if is_there else None, database_of(folder, database)
    if none_means and isinstance(where, Path) and not where.exists():
        raise InputError(f"{where}: there is no such file; {none_means}")
    store = Store.open(where, fingerprint, folder)
    try:
        yield store
    finally:
        store.close()


def base_address(url: str) -> str:
    """Return the address without a slash at its end."""
    base = url.strip().rstrip("/")
    try:
        parts = urlsplit(base)
        is_address = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    except ValueError:
        is_address = False
    if not is_address:
        raise InputError(f"--url: {url!r} is not the address of a study; needed: https://…")
    return base


SKIP = "skip"
# Written out, because fairwise.judgments takes long to load and --help must not wait for it.
ANSWERS = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")
COLUMNS = (
    *("judge", "a", "b", "answer", "weight", "round", "design"),
    *("seconds", "answered_at", "selection_probability", "error_bound"),
)


def column_map(texts: Sequence[str]) -> dict[str, str]:
    """Return our column names and what the file calls them, from ``ours=theirs,…``.

    >>> column_map(["judge=rater,a=left", "b=right"])
    {'judge': 'rater', 'a': 'left', 'b': 'right'}
    """
    mapping: dict[str, str] = {}
    for part in _parts(texts, "--map"):
        ours, equals, theirs = part.partition("=")
        ours, theirs = ours.strip(), theirs.strip()
        if not equals or not theirs:
            raise typer.BadParameter(f"--map {part!r}: write ours=theirs, such as judge=rater.")
        if ours not in COLUMNS:
            hint = f" Did you mean {theirs}={ours}?" if theirs in COLUMNS else ""
            raise typer.BadParameter(f"--map {part!r}: {ours!r} is not one of {', '.join(COLUMNS)}.{hint}")
        if ours in mapping:
            raise typer.BadParameter(f"--map: {ours} is given twice, as {mapping[ours]!r} and as {theirs!r}.")
        mapping[ours] = theirs
    return mapping


def answer_map(texts: Sequence[str]) -> dict[str, str]:
    """Return the file's words and what they mean, from ``theirs=ours,…``; nothing before = is an empty cell.

    >>> answer_map(["0=same,1=no_constraint", "=skip"])
    {'0': 'same', '1': 'no_constraint', '': 'skip'}
    """
    mapping: dict[str, str] = {}
    for part in _parts(texts, "--map-answer"):
        theirs, equals, ours = part.rpartition("=")
        theirs, ours = theirs.strip(), ours.strip()
        if not equals or ours not in (*ANSWERS, SKIP):
            hint = f" Did you mean {ours}={theirs}?" if theirs in (*ANSWERS, SKIP) else ""
            raise typer.BadParameter(
                f"--map-answer {part!r}: write theirs=ours, ours being one of {', '.join(ANSWERS)}, {SKIP}.{hint}"
            )
        if mapping.get(theirs, ours) != ours:
            raise typer.BadParameter(f"--map-answer: {theirs!r} cannot be both {mapping[theirs]} and {ours}.")
        mapping[theirs] = ours
    return mapping


def _parts(texts: Sequence[str], option: str) -> list[str]:
    """Split at commas, except between quotation marks."""
    try:
        return [part for row in csv.reader(texts, skipinitialspace=True, strict=True) for part in row if part.strip()]
    except csv.Error as error:
        raise typer.BadParameter(f"{option}: {error}.") from None


_judgments_option = partial(Option, rich_help_panel="Judgments")
_MAP = "Columns under other names, ours=theirs: judge=rater,a=left,b=right,answer=choice."
_MAP_ANSWER = "Answers in other words, theirs=ours: 0=same,1=no_constraint,9=skip."
_JUDGES = "Who the judges are: a table with the column judge and any others, such as relation."


@dataclass(frozen=True)
class JudgmentsOptions:
    """Options for a file of judgments, perhaps from another tool."""

    judgments: Annotated[Path, _judgments_option(help="What people said: .csv, .parquet or .xlsx.")]
    map: Annotated[list[str] | None, _judgments_option(help=_MAP, metavar="OURS=THEIRS")] = None
    map_answer: Annotated[list[str] | None, _judgments_option(help=_MAP_ANSWER, metavar="THEIRS=OURS")] = None
    judge: Annotated[str | None, _judgments_option(help="Who answered, where the file has no such column.")] = None
    answer: Annotated[str | None, _judgments_option(help="What every row says, where the file has no such column.")] = (
        None
    )
    judges: Annotated[Path | None, _judgments_option(help=_JUDGES)] = None

    def __post_init__(self) -> None:
        """Refuse wrong usage before any file is read."""
        column_map(self.map or ())
        answer_map(self.map_answer or ())

    def read(self, people: pd.DataFrame | None = None) -> tuple[Judgments, Account | None]:
        """Return the judgments, and an account of what became what if anything was translated."""
        from fairwise.judgments import Judgments
        from fairwise.judgments.files import translate_answers
        from fairwise.judgments.table import MEASURED_ONLY
        from fairwise.judgments.validation import Reading, check
        from fairwise.tables.files import read_table

        frame, source = read_table(self.judgments, self._check_header)
        columns, fixed = column_map(self.map or ()), self._fixed()
        account = None
        if columns or self.map_answer or fixed:
            words = answer_map(self.map_answer or ())
            frame, source, account = translate_answers(frame, source, columns, words, fixed, "--map-answer VALUE=same")
        judgments = Judgments(check(frame, source, people, Reading("id", MEASURED_ONLY, "last"), self._attributes()))
        if not len(judgments.counted()):
            raise InputError(f"{self.judgments}: there is not a single answer that counts")
        return judgments, account

    def _attributes(self) -> pd.DataFrame | None:
        """Read the table of judges, if there is one."""
        from fairwise.tables.files import column_of, read_table, typed

        if self.judges is None:
            return None
        table, source = read_table(self.judges)
        column_of(table, "judge", source)
        return table.drop(columns="judge").apply(typed).set_axis(table["judge"], axis="index")

    def _fixed(self) -> dict[str, str]:
        return {name: value for name, value in (("judge", self.judge), ("answer", self.answer)) if value is not None}

    def _check_header(self, header: list[str]) -> None:
        """Refuse a file without the columns that are needed, and say how to name those that are there."""
        from fairwise.errors import some
        from fairwise.judgments.validation import REQUIRED
        from fairwise.tables.rows import require_column

        columns, fixed = column_map(self.map or ()), self._fixed()
        for theirs in columns.values():
            require_column(theirs, header, str(self.judgments))
        for name in fixed:
            if name in header or name in columns:
                raise InputError(f"{self.judgments}: has a column for {name}, so --{name} cannot be given as well")
        missing = [name for name in REQUIRED if name not in {*header, *columns, *fixed}]
        if missing:
            hints = [f"or give one for all rows with --{name}" for name in missing if name in {"judge", "answer"}]
            raise InputError(
                f"{self.judgments}: no column {' and no column '.join(missing)}; found: {some(header)}; "
                f"if it is there under another name: {'; '.join([f'--map {missing[0]}=NAME', *hints])}"
            )
