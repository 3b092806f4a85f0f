"""Make ``hiring_judgments.csv``: what eight simulated judges say about the made-up applicants of ``hiring.csv``.

``python examples/make_hiring_judgments.py`` writes the file beside this script, always the same one. No real person was
asked. Every judge is a rule, printed as a sentence; what they have in common is that most of them do not hold age or a
gap in employment against anybody, as the past decisions in ``hiring.csv`` do.
"""

from pathlib import Path

import pandas as pd
from make_hiring import alike

from fairwise import Judgments
from fairwise.simulation import Closeness, Merit, Respondent, draw_pairs, simulate_panel

N_OWN, N_SHARED = 12, 8  # random pairs, for each judge alone and for all; to all also the pairs of people who are alike

ABLE = {"years_of_experience": 1.0, "school_leaving_grade": 0.2, "languages": 2.0}
NOT_HELD_AGAINST = {"age": 0.0, "gap_in_employment_months": 0.0}
SCHOOLED = {"education": {"school": 0.0, "apprenticeship": 2.0, "bachelor": 3.0, "master": 4.0}}


def judges() -> list[Respondent]:
    able = Closeness(ABLE | NOT_HELD_AGAINST, threshold=4.0)
    either = Closeness({"years_of_experience": 1.0, "school_leaving_grade": 0.3} | NOT_HELD_AGAINST, 5.0, "largest")
    with_gap = Closeness(ABLE | {"gap_in_employment_months": 0.4, "age": 0.0}, threshold=4.0)
    schooled = Closeness({"education": 9.0, "school_leaving_grade": 1.0} | NOT_HELD_AGAINST, 8.0, "sum", ("education",))
    preferences = [
        (able, Merit(ABLE, margin=4.0), 0.0),
        (able, Merit(ABLE | SCHOOLED, margin=8.0), 0.0),
        (either, Merit({"years_of_experience": 1.0}, margin=6.0), 0.0),
        (either, None, 0.0),
        (with_gap, Merit(ABLE | {"gap_in_employment_months": -0.6}, margin=6.0), 0.0),
        (schooled, Merit(SCHOOLED, margin=1.5), 0.0),
        (able, Merit({"school_leaving_grade": 1.0}, margin=15.0), 0.05),
        (either, Merit(ABLE, margin=10.0), 0.2),
    ]
    return [
        Respondent(f"simulated-{number:02}", closeness, order, noise=noise)
        for number, (closeness, order, noise) in enumerate(preferences, start=1)
    ]


def make(people: pd.DataFrame) -> Judgments:
    """``people`` has ids in its index and no outcome: nobody judges by what became of someone."""
    own = simulate_panel(people, respondents=judges(), n_pairs=N_OWN, answers="four", seed=7)
    shared = [(people.index[a], people.index[b]) for a, b in alike(people)]
    shared += draw_pairs(people, n_judges=1, n_pairs=N_SHARED, seed=9)[0]
    common = simulate_panel(people, respondents=judges(), pairs=shared, answers="four", seed=8)
    return Judgments(pd.concat([own.frame, common.frame], ignore_index=True), people=people)


if __name__ == "__main__":
    here = Path(__file__).parent
    made = make(pd.read_csv(here / "hiring.csv", index_col="id").drop(columns="hired_and_stayed"))
    made.write(here / "hiring_judgments.csv")
    print(made, *(judge.describe() for judge in judges()), sep="\n")
