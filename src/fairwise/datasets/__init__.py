"""People to learn from: two bundled datasets with their cards, and made-up people of any number.

Nothing is downloaded. :func:`card` says where a dataset comes from and what to keep in mind when using it.
"""

from fairwise.datasets import compas, german_credit
from fairwise.datasets.compas import load_compas
from fairwise.datasets.dataset_card import Column, DatasetCard
from fairwise.datasets.german_credit import load_german_credit
from fairwise.datasets.synthetic import make_people
from fairwise.errors import InputError

__all__ = ["Column", "DatasetCard", "card", "load_compas", "load_german_credit", "make_people"]

_CARDS = (compas.CARD, german_credit.CARD)


def card(name: str) -> DatasetCard:
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
    for known in _CARDS:
        if known.name == name:
            return known
    allowed = ", ".join(repr(known.name) for known in _CARDS)
    raise InputError(f"there is no bundled dataset {name!r}; allowed: {allowed}")
