"""
Pairs nobody was asked about
============================

Ten **simulated** judges answer fifteen pairs each about loan applicants. A model of their answers says what they would
say of other pairs, where it is sure, and a fit can use that too: it then hears about people whom nobody compared.
"""

# %%
# The people, the simulated judges and what they say.

import pandas as pd

from fairwise import AnswerModel, Judgments, PairwiseFairClassifier, audit
from fairwise.datasets import load_german_credit
from fairwise.simulation import draw_pairs, draw_respondents, simulate_panel

people, outcome = load_german_credit()
people, outcome = people.iloc[:300, :6], outcome.iloc[:300]
judges = draw_respondents(people, 10, seed=1)
said = simulate_panel(people, 10, 15, answers="four", seed=1, respondents=judges)
print(said)

# %%
# What they mean, how steady they are, and what matters to whom.

answers = AnswerModel().fit(said)
print(*answers.notes_, sep="\n")
print(answers.reliability_.head(3).round(2))
print(answers.drivers_.loc[judges[0].name].round(2))

# %%
# A set for a pair that the first judge was not asked about.

pair = pd.DataFrame({"judge": [judges[0].name], "a": [people.index[5]], "b": [people.index[9]]})
print(answers.predict_proba(pair, people=people).round(2))
print(answers.predict_sets(pair, coverage=0.8, people=people))

# %%
# Judgments about pairs nobody was asked about, where the set has one answer.

more = said.extended(answers, n_pairs=400, coverage=0.8, people=people)
print(more)
print(f"Of the predicted ones at most {answers.error_bound(0.8):.0%} are wrong.")

# %%
# What simulated people really think is known, so both fits can be measured on pairs nobody was asked about.

rows = []
for number, judge in enumerate(judges):
    pairs = draw_pairs(people, 1, 200, seed=100 + number)[0]
    meant = judge.opinions(people.loc[[a for a, _ in pairs]], people.loc[[b for _, b in pairs]])
    rows += [(judge.name, a, b, str(answer)) for (a, b), answer in zip(pairs, meant, strict=True)]
truth = Judgments(pd.DataFrame(rows, columns=["judge", "a", "b", "answer"]), people=people)

for name, judgments in (("asked alone", said), ("with predicted", more)):
    model = PairwiseFairClassifier(gamma=0.0, eta=0.02, favorable_label=1).fit(people, outcome, judgments=judgments)
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    found = audit(scores, truth, gamma=0.0, favorable_label=1).overall.loc["value"]
    print(f"{name:15} error {model.certificate_.error:.3f}, mean excess over all pairs {found['mean_excess']:.4f}")
