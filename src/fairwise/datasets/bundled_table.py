"""Read a bundled table, but only if it is the one its card describes."""

import bz2
import hashlib
import io
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.errors import FairwiseError

if TYPE_CHECKING:
    from fairwise.datasets.dataset_card import DatasetCard

INDEX = "id"


def data_folder() -> Traversable:
    return resources.files("fairwise.datasets").joinpath("data")


def read_people_and_outcome(card: "DatasetCard") -> tuple[pd.DataFrame, pd.Series]:
    """Return the table's features and its outcome, both indexed by person, in file order."""
    text = bz2.decompress(_verified_bytes(card))
    # Without na_filter a category called "none" or "NA" stays a word.
    table = pd.read_csv(io.BytesIO(text), index_col=INDEX, na_filter=False)
    outcome = table.pop(card.outcome.name)
    return table, outcome


def _verified_bytes(card: "DatasetCard") -> bytes:
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
