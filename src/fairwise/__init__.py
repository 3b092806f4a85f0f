"""Fairness elicitation: from what people say about pairs to the most accurate classifier that respects it.

Names are loaded when they are first used, so that ``import fairwise`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairwise.loading import collection_paused

if TYPE_CHECKING:
    from fairwise.auditing.audit import audit
    from fairwise.auditing.frontier import frontier
    from fairwise.judgments import Answer, Judgments
    from fairwise.judgments.answer_model import AnswerModel
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.regressor import PairwiseFairRegressor
    from fairwise.learning.solvers.regret_bound import promise

__all__ = [
    "Answer",
    "AnswerModel",
    "Judgments",
    "LargeTable",
    "PairwiseFairClassifier",
    "PairwiseFairRegressor",
    "audit",
    "frontier",
    "promise",
]
__version__ = "0.2.0"

_HOME = {
    "Answer": "fairwise.judgments",
    "AnswerModel": "fairwise.judgments.answer_model",
    "Judgments": "fairwise.judgments",
    "LargeTable": "fairwise.learning.large.table",
    "PairwiseFairClassifier": "fairwise.learning.estimator",
    "PairwiseFairRegressor": "fairwise.learning.regressor",
    "audit": "fairwise.auditing",
    "frontier": "fairwise.auditing",
    "promise": "fairwise.learning.solvers.regret_bound",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairwise' has no attribute {name!r}")
    with collection_paused():
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # so that this is not asked again: each pause makes all objects old
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
