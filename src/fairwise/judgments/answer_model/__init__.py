"""What judges mean: a hierarchical model of their answers, fitted in seconds.

`features` turns two people into numbers, `choices` says how an answer follows from them, `panel` what judges share,
`lapses` how often they press something else, `conformal` how sure a prediction is; `rows` reads tables, `hierarchy`
puts all together, `drivers` says what matters to whom, `extension` adds what nobody was asked, and `model` is what
users see.
"""

from fairwise.judgments.answer_model.model import AnswerModel

__all__ = ["AnswerModel"]
