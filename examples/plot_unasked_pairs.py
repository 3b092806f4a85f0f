"""
Pairs nobody was asked about
============================

Ten **simulated** judges answer fifteen pairs each about loan applicants. A model of their answers says what they would
say of other pairs, where it is sure, and a fit can use that too: it then hears about people whom nobody compared.
"""

# %%
# The people, the simulated judges and what they say.

import matplotlib.pyplot as plt
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
# Pairs that the first judge was not asked about: how probable each answer is, and a set that holds the real one 9 times
# in 10. The fewer answers in it, the surer the model is.

pairs = pd.DataFrame({"judge": judges[0].name, "a": people.index[5:9], "b": people.index[9:13]})
print(answers.predict_proba(pairs, people=people).round(2))
print(answers.predict_sets(pairs, coverage=0.9, people=people))

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


def excess_over_all_pairs(model: PairwiseFairClassifier) -> float:
    """By how much a model breaks what the simulated judges think, on average."""
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    return float(audit(scores, truth, gamma=0.0, favorable_label=1).overall.loc["value", "mean_excess"])


curves = {}
for name, judgments in (("asked alone", said), ("with predicted", more)):
    points = []
    for eta in (0.0, 0.005, 0.01, 0.02, 0.03, 0.04):
        model = PairwiseFairClassifier("tree", max_depth=3, max_thresholds=8, gamma=0.0, eta=eta, favorable_label=1)
        model.fit(people, outcome, judgments=judgments)
        points.append((model.certificate_.error, excess_over_all_pairs(model)))
    curves[name] = pd.DataFrame(points, columns=["error", "excess"]).sort_values("error")
    print(f"{name}\n{curves[name].round(4).to_string(index=False)}")

# %%
# The same allowance means different things for the two, so compare them at equal error: the lower curve breaks less of
# what the judges really think. With trees of depth 2 there is hardly a difference here: what so simple a model does to
# the 150 asked pairs, it does to all others, too.

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, curve), color in zip(curves.items(), ("#b4472f", "#2b5c8a"), strict=True):
    axes.plot(curve["error"], curve["excess"], marker="o", color=color, label=name)
axes.set_xlabel("error")
axes.set_ylabel("mean excess over all pairs")
axes.set_ylim(bottom=0)
axes.set_title("German credit, 10 simulated judges with 15 answers each", loc="left")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

plt.show()
