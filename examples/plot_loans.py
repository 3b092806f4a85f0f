"""
Loans: what judgments cost, and which of them
=============================================

German credit: 1,000 people who were given a loan, and whether they paid it back. Twelve **simulated** judges compare
pairs of them. The script learns the most accurate model that respects what they said, reads its certificate, draws what
each degree of respect costs, and finds the judgments that cost most.
"""

# %%
# People and judgments
# --------------------
#
# ``people`` has one row per person and their ids in its index. Each judge is shown 20 pairs and may give all four
# answers. ``Roles`` says what the simulated judges take for demographics and what for a record; real judges need no
# such thing. Read theirs with ``Judgments.read("judgments.csv", people=people)``.

import matplotlib.pyplot as plt
from sklearn.model_selection import cross_val_score

from fairwise import PairwiseFairClassifier, frontier
from fairwise.auditing import followed_by_judge, followed_by_pair, lorenz
from fairwise.datasets import load_german_credit
from fairwise.simulation import Roles, simulate_panel

people, paid_back = load_german_credit()
roles = Roles(
    demographics=("age", "personal_status_sex", "foreign_worker"),
    record=("credit_history", "duration_months", "amount_dm", "employment"),
)
judgments = simulate_panel(people, n_judges=12, n_pairs=20, answers="four", roles=roles, seed=1)
print(judgments)

# %%
# A model with a proof
# --------------------
#
# Label 1, the loan was paid back, is the favourable one. Mixtures of decision trees come with a proof: no mixture of
# trees of this depth that keeps the rules has a lower error on these people than ``lower_bound``. Without judgments,
# the same class gives the plain model.

GAMMA = 0.3
model = PairwiseFairClassifier("tree", gamma=GAMMA, favorable_label=1)
plain = PairwiseFairClassifier("tree", favorable_label=1).fit(people, paid_back)
model.fit(people, paid_back, judgments=judgments)

certificate = model.certificate_
print(f"Error without judgments        {plain.certificate_.error:.4f}")
print(certificate)

# %%
# These are errors on the people the models were fitted to. On people they have not seen, in five folds:

alone = cross_val_score(plain, people, paid_back)
judged = cross_val_score(model, people, paid_back, params={"judgments": judgments})
print(f"Error on people held out: without judgments {1 - alone.mean():.4f}, with judgments {1 - judged.mean():.4f}")

# %%
# What each degree of respect costs
# ---------------------------------
#
# ``gamma`` is how far two people's chances may differ against a judgment. At 1 nothing is asked and the error is that
# of the plain model; at 0 every judgment is kept to the letter. The band is a 95 % interval for other people like
# these; it knows nothing of how closely the models were fitted to these.

curve = frontier(
    people, paid_back, judgments, gammas=[0, 0.1, 0.2, 0.3, 0.5, 0.7, 1], estimator="tree", favorable_label=1
)
print(curve[["gamma", "error", "lower_bound", "mean_violation"]].round(4).to_string(index=False))

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.fill_between(curve["gamma"], curve["error_low"], curve["error_high"], color="#2b5c8a", alpha=0.15, linewidth=0)
axes.plot(curve["gamma"], curve["error"], color="#2b5c8a", marker="o")
axes.scatter([GAMMA], [certificate.error], s=110, facecolors="none", edgecolors="#b4472f", linewidths=2, zorder=3)
axes.annotate("the model above", (GAMMA, certificate.error), (12, 10), textcoords="offset points", color="#b4472f")
axes.set_xlabel("γ: how far two chances may differ against a judgment")
axes.set_ylabel("error")
axes.set_title("German credit, 12 simulated judges", loc="left")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which judgments cost most
# -------------------------
#
# The price of a judgment is the error that would be saved per unit by which that pair alone were allowed to differ
# more. It is a slope, not a promise about dropping the judgment. Few pairs carry most of the price.

dearest = model.prices_.nlargest(3, "price")
print(dearest[["judge", "a", "b", "answer", "violation", "price"]].round(4).to_string(index=False))
shown = ["checking_account", "duration_months", "amount_dm", "credit_history", "age"]
print(people.loc[dearest[["a", "b"]].iloc[0], shown].T.to_string())
print(followed_by_judge(model.prices_).head(3).round(4).to_string())

spread = lorenz(followed_by_pair(model.prices_)["price"])
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(spread["share"], spread["total"], color="#2b5c8a")
axes.plot([0, 1], [0, 1], color="#999999", linestyle=":")
axes.set_xlabel("share of the pairs, the dearest first")
axes.set_ylabel("share of the price")
axes.set_title("How unevenly the price is spread (simulated judges)", loc="left")
axes.spines[["top", "right"]].set_visible(False)

plt.show()
