"""What one should know about a dataset before using it, and its table, read only if it is the one on the card."""

import bz2
import hashlib
import io
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import pandas as pd

from fairwise.errors import FairwiseError


@dataclass(frozen=True)
class Column:
    """One column of a table of people.

    Attributes
    ----------
    name
        As in the table.
    meaning
        One line, in plain words.
    """

    name: str
    meaning: str


@dataclass(frozen=True)
class DatasetCard:
    """Where a bundled dataset comes from, what is in it and what to keep in mind.

    Attributes
    ----------
    name
        What :func:`fairwise.datasets.card` knows it by.
    title
        For people to read.
    provenance
        Who collected it, where and when, and what was changed since.
    licence
        On which terms it may be used.
    rows
        The number of people.
    columns
        The columns of the table, in order.
    outcome
        The column to predict, 0 or 1; its meaning is that of label 1.
    favorable_label
        The label that is good for the person.
    favorable_meaning
        What that label says about the person.
    caveats
        What can mislead, one sentence or two each.
    file, sha256
        The bundled file and its checksum.
    raw_file, raw_sha256
        The file it was made from and its checksum.
    """

    name: str
    title: str
    provenance: str
    licence: str
    rows: int
    columns: tuple[Column, ...]
    outcome: Column
    favorable_label: int
    favorable_meaning: str
    caveats: tuple[str, ...]
    file: str
    sha256: str
    raw_file: str
    raw_sha256: str


INDEX = "id"


def data_folder() -> Traversable:
    return resources.files("fairwise.datasets").joinpath("data")


def read_people_and_outcome(card: DatasetCard) -> tuple[pd.DataFrame, pd.Series]:
    """Return the table's features and its outcome, both indexed by person, in file order."""
    text = bz2.decompress(_verified_bytes(card))
    # Without na_filter a category called "none" or "NA" stays a word.
    table = pd.read_csv(io.BytesIO(text), index_col=INDEX, na_filter=False)
    outcome = table.pop(card.outcome.name)
    return table, outcome


def _verified_bytes(card: DatasetCard) -> bytes:
    try:
        content = data_folder().joinpath(card.file).read_bytes()
    except FileNotFoundError:
        raise FairwiseError(f"the bundled data file {card.file} is missing; install fairwise again") from None
    found = hashlib.sha256(content).hexdigest()
    if found != card.sha256:
        raise FairwiseError(
            f"the bundled data file {card.file} is not the original: its SHA-256 is {found}, "
            f"expected {card.sha256}; install fairwise again"
        )
    return content
