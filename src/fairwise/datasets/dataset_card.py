"""What one should know about a dataset before using it."""

from dataclasses import dataclass


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
