"""What people said: answers about pairs of people, as a validated table."""

from fairwise.judgments.answer import Answer
from fairwise.judgments.table import Judgments

__all__ = ["Answer", "Judgments"]
