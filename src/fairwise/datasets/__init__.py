"""People to learn from: two bundled datasets with their cards, and made-up people of any number.

Nothing is downloaded. :func:`card` says where a dataset comes from and what to keep in mind when using it.
"""

from fairwise.datasets.bundled import Column, DatasetCard, card, load_compas, load_german_credit
from fairwise.datasets.synthetic import make_people

__all__ = ["Column", "DatasetCard", "card", "load_compas", "load_german_credit", "make_people"]
