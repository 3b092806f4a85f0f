"""How long an audit of a million judgments takes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import compas
from benchmarks.row import Row, seconds
from fairwise import Answer, Judgments, audit

JUDGES = 1_000
PAIRS = 1_000


def run() -> Row:
    scores = random_scores()
    own, shared = random_judgments(distinct=True), random_judgments(distinct=False)
    took = seconds(lambda: audit(scores, own, favorable_label=0))
    together = seconds(lambda: audit(scores, shared, favorable_label=0))
    return Row(
        what="audit of 1,000,000 judgments, with intervals",
        bar="≤ 10 s",
        measured=f"{took:.1f} s",
        reached=max(took, together) <= 10,
        notes=f"1,000 made-up judges, each with 1,000 pairs of their own, all four answers, drawn at random. Where all "
        f"judge the same 1,000 pairs it takes {together:.1f} s. Drawing and checking the judgments is not counted.",
        ratios={"bar / seconds": 10 / max(took, together)},
    )


def random_scores() -> pd.Series:
    ids = compas.people()[0].index
    return pd.Series(np.random.default_rng(0).random(len(ids)), index=ids)


def random_judgments(*, distinct: bool) -> Judgments:
    """Random answers; all judges see the same pairs, or nobody sees a pair that somebody else sees."""
    ids = compas.people()[0].index
    rng = np.random.default_rng(1)
    # A pair i < j is the number i + j (j - 1) / 2.
    wanted = JUDGES * PAIRS if distinct else PAIRS
    number = rng.choice(len(ids) * (len(ids) - 1) // 2, wanted, replace=False)
    j = ((1 + np.sqrt(1 + 8.0 * number)) // 2).astype(int)
    i = number - j * (j - 1) // 2
    times = 1 if distinct else JUDGES
    frame = pd.DataFrame(
        {
            "judge": np.repeat(np.arange(JUDGES), PAIRS),
            "a": np.tile(ids[i], times),
            "b": np.tile(ids[j], times),
            "answer": rng.choice([str(answer) for answer in Answer], JUDGES * PAIRS),
        }
    )
    return Judgments(frame)
