"""``python -m fairwise.jobs.score MODEL``: what a model says about one person, for the console.

The console knows nothing of learning, and so asks this program. It reads JSON from its standard input: ``person``, what
is known of them (column by column, null where nothing is known), and ``labels``, what the columns are called. It writes
what the model says as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from fairwise.languages import SOURCE

_NICE = 5


def lower_priority() -> None:
    """Compute what somebody waits for: with a third of a visitor's weight.

    On a machine whose cores are all busy, the idle class and the lowest priority get about a hundredth of a core or
    less, and would not be done while anybody waits.
    """
    if hasattr(os, "nice"):
        os.nice(_NICE)


def score(model_file: Path, person: dict[str, Any], labels: dict[str, str], language: str = SOURCE) -> dict[str, Any]:
    """Return the probability of each outcome by its name, or the amount, and which rules say what, in this language."""
    # Slow to load, and so only once visitors go first.
    import pandas as pd

    from fairwise.learning.any_model import load_model
    from fairwise.learning.regressor import PairwiseFairRegressor
    from fairwise.reporting.words import words_in
    from fairwise.tables.files import with_dates
    from fairwise.tables.rows import text_of

    model = load_model(model_file)
    words = words_in(language)
    dates = model.columns_.index[model.columns_["kind"] == "date"]
    table = with_dates(pd.DataFrame([person], index=["this person"]), dates)
    if isinstance(model, PairwiseFairRegressor):
        amount_rules = model.rules_.for_people(labels).in_language(words.translate, words.language.decimal)
        amount = model.explain(table, amount_rules)
        return {"amount": amount.amount, "region": None, "rules": amount.to_frame().astype(object).to_dict("records")}
    rules = model.rules_.for_people(labels).in_language(words.translate, words.language.decimal)
    explained = model.explain(table, rules)
    names = [text_of(label) for label in model.classes_.tolist()]
    several = len(names) > 2
    chances = explained.chances if several else (1.0 - explained.probability, explained.probability)
    return {
        "probabilities": dict(zip(names, chances, strict=True)),
        "region": explained.region,
        "rules": explained.to_frame().astype(object).to_dict("records"),
    }


if __name__ == "__main__":
    lower_priority()
    from fairwise.tables.output import json_text

    sys.stdout.write(json_text(score(Path(sys.argv[1]), **json.load(sys.stdin))))
