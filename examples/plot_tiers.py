"""
Tiers: three decisions instead of two
=====================================

Three levels of risk for the people of COMPAS, and ten **simulated** judges who compare pairs of them. The script says
how good each level is for a person, learns the most accurate model that respects the judgments, audits it, and draws
what each degree of respect costs. (The levels are made from two columns by a fixed rule: the bundled table does not
have COMPAS's own.)
"""

# %%
# Three levels
# ------------

import matplotlib.pyplot as plt
import pandas as pd

from fairwise import PairwiseFairClassifier, audit, frontier
from fairwise.datasets import load_compas
from fairwise.simulation import simulate_panel

people, risk = load_compas(outcome="risk")
judgments = simulate_panel(people, n_judges=10, n_pairs=20, seed=1)
print(risk.value_counts())

# %%
# How good each is
# ----------------
#
# A judgment is about how well someone is treated. With these values, "medium" for certain is as good as "low" and
# "high" with equal chances. What is wrong by two levels costs twice as much as what is wrong by one.

VALUES = {"high": 0, "medium": 0.5, "low": 1}
levels = list(VALUES)
loss = pd.DataFrame([[0, 1, 2], [1, 0, 1], [2, 1, 0]], index=levels, columns=levels)

GAMMA = 0.3
plain = PairwiseFairClassifier("tree", label_values=VALUES, loss=loss).fit(people, risk)
model = PairwiseFairClassifier("tree", gamma=GAMMA, label_values=VALUES, loss=loss)
model.fit(people, risk, judgments=judgments)
print(f"Error without judgments        {plain.certificate_.error:.4f}")
print(model.certificate_)

# %%
# An audit needs nothing but how well each person is treated:

treated = pd.Series(model.predict_value(people), index=people.index)
print(audit(treated, judgments, gamma=GAMMA, favorable_label=1).overall)

# %%
# What respect costs
# ------------------

curve = frontier(
    people, risk, judgments, gammas=[0, 0.1, 0.2, 0.3, 0.5, 1], estimator="tree", label_values=VALUES, loss=loss
)
print(curve[["gamma", "error", "max_violation"]].round(4).to_string(index=False))

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(curve["gamma"], curve["error"], marker="o")
axes.set(
    xlabel="gamma: how far apart judged pairs may be", ylabel="mean cost", title="10 simulated judges, three levels"
)
figure.tight_layout()
plt.show()
