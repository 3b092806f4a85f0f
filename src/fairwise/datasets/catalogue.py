"""The bundled datasets by name."""

from typing import TYPE_CHECKING

from fairwise.datasets import compas, german_credit
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.datasets.dataset_card import DatasetCard

CARDS = (compas.CARD, german_credit.CARD)


def card(name: str) -> "DatasetCard":
    """Say where a bundled dataset comes from, what is in it and what to keep in mind.

    Parameters
    ----------
    name
        ``"compas"`` or ``"german_credit"``.

    Returns
    -------
    DatasetCard
        The facts, as a frozen dataclass.

    Raises
    ------
    InputError
        If there is no such dataset.

    Examples
    --------
    >>> card("compas").favorable_label
    0
    """
    for known in CARDS:
        if known.name == name:
            return known
    allowed = ", ".join(repr(known.name) for known in CARDS)
    raise InputError(f"there is no bundled dataset {name!r}; allowed: {allowed}")
