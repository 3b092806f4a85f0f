"""
Amounts: how much, not whether
==============================

German credit: 1,000 people and how much each was lent. Six **simulated** judges compare pairs of them. The script
learns amounts that respect what they said, reads the certificate with what the grid of amounts can cost, and draws
whose amount changes.
"""

# %%
# People and amounts
# ------------------

import matplotlib.pyplot as plt

from fairwise import PairwiseFairRegressor
from fairwise.datasets import load_german_credit
from fairwise.simulation import Roles, simulate_panel

people, amount = load_german_credit(outcome="amount")
roles = Roles(
    demographics=("age", "personal_status_sex", "foreign_worker"),
    record=("credit_history", "duration_months", "employment"),
)
judgments = simulate_panel(people, n_judges=6, n_pairs=15, answers="four", roles=roles, seed=1)

# %%
# A model of amounts
# ------------------
#
# ``gamma`` is a share of the range, here a twentieth of 20,000 Deutschmarks. A larger loan counts as the better one.

settings = {"larger_is_better": True, "outcome_range": (0, 20_000), "grid": 21}
plain = PairwiseFairRegressor(**settings).fit(people, amount)
model = PairwiseFairRegressor(gamma=0.05, **settings).fit(people, amount, judgments=judgments)
print(f"Error without judgments        {plain.certificate_.error:.4f}")
print(model.certificate_)

# %%
# What is predicted is the mean of the mixture: the same amount for whoever is the same to the model.

print("The amounts of three people:", model.predict(people.iloc[:3]).round())

figure, axes = plt.subplots(figsize=(5, 4))
axes.scatter(plain.predict(people), model.predict(people), s=8)
axes.set(xlabel="without judgments (DM)", ylabel="with them (DM)", title="6 simulated judges, gamma = 0.05")
figure.tight_layout()
plt.show()
