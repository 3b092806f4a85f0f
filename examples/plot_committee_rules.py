"""
Rules of a committee
====================

Twelve **simulated** judges answer the same forty pairs of loan applicants; four of them are applicants themselves.
When is what they ask for in force: when anybody asks for it, when most do, or only when those affected agree?
"""

# %%
# The people, the simulated judges, and who of them is affected.

import matplotlib.pyplot as plt

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import compare_rules
from fairwise.datasets import load_german_credit
from fairwise.simulation import draw_pairs, simulate_panel

people, outcome = load_german_credit()
people, outcome = people.iloc[:300, :6], outcome.iloc[:300]
pairs = draw_pairs(people, 1, 40, seed=3)[0]
said = simulate_panel(people, 12, answers="four", seed=3, pairs=pairs)
relation = {judge: {"relation": "affected" if k % 3 == 0 else "not affected"} for k, judge in enumerate(said.judges)}
said = Judgments(said.frame, people=people, judge_attributes=relation)
print(said)

# %%
# A model for each rule. With None every judgment counts by itself, as in the paper: here all have to be followed (`eta`
# would allow to leave some aside). The committee's rules decide before anything is learned what is in force for the
# panel as one.

rules = {
    "every judgment": None,
    "at least a quarter": {"quota": 0.25},
    "majority": "majority",
    "majority, and all who are affected": {"veto": {"relation": "affected"}},
    "one vote for each group": {"one_vote_per": "relation"},
}
model = PairwiseFairClassifier("tree", gamma=0.1, eta=0.0, favorable_label=1)
compared = compare_rules(model, people, outcome, said, rules, by="relation")
print(compared.round(3).to_string())

# %%
# On the left what a rule costs, on the right what share of what each group asked for is followed, whatever the rule
# made of it. The more have to agree, the less is in force: that costs less, and follows fewer of the single answers.

names = list(rules)
places = range(len(names))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
bars = left.barh(places, compared.xs("everyone", level="group")["error"].loc[names], color="#2b5c8a", height=0.6)
left.bar_label(bars, fmt="%.3f", padding=3)
left.set_xlim(0, 0.3)
left.set_yticks(places, names)
left.invert_yaxis()
left.set_xlabel("error")
left.set_title("12 simulated judges, German credit", loc="left")
for group, color, size in (("not affected", "#8a8a8a", 11), ("affected", "#b4472f", 6)):
    followed = compared.xs(group, level="group")["share_followed"].loc[names]
    right.plot(followed, places, "o", color=color, markersize=size, label=group)
right.set_xlim(0.8, 1.01)
right.set_xlabel("share of what they asked for that is followed")
right.legend(frameon=False, loc="upper left")
right.grid(axis="x", color="#dddddd")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)

plt.show()
