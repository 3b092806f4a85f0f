"""
A neural network without sample weights
=======================================

The learner needs classifiers that take costs: some people matter more than others, and prices of judgments change who
does. Most scikit-learn classifiers take such costs as ``sample_weight``, today also ``MLPClassifier``. An estimator of
your own may not. Fairwise then fits it to people drawn with probabilities proportional to their costs, from a fixed
seed.

Here such an estimator is a network with one hidden layer, written in NumPy. The people are those of German credit; the
eight judges are **simulated**.
"""

# %%
# The network
# -----------
#
# All that is asked of an estimator are scikit-learn's ``fit`` and ``predict``; with ``predict_proba`` or
# ``decision_function`` its threshold can be moved to where the costs are least. What it is given are the people's
# columns as numbers: categories as 0 and 1, numbers scaled.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from fairwise import PairwiseFairClassifier, audit
from fairwise.datasets import load_german_credit
from fairwise.simulation import Roles, simulate_panel


class SmallNetwork(ClassifierMixin, BaseEstimator):
    """One hidden layer of tanh units, trained by gradient descent with momentum; ``fit`` takes no sample weights."""

    def __init__(self, n_hidden=8, n_steps=200, rate=0.5, decay=0.02, random_state=None):
        self.n_hidden = n_hidden
        self.n_steps = n_steps
        self.rate = rate
        self.decay = decay
        self.random_state = random_state

    def fit(self, X, y):
        X = validate_data(self, X, dtype=float)
        self.classes_, label = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(self.random_state)
        self.hidden_ = rng.normal(0, 1 / np.sqrt(X.shape[1]), (X.shape[1], self.n_hidden))
        self.output_ = rng.normal(0, 0.1, self.n_hidden + 1)  # the last one is the intercept
        steps = [np.zeros_like(self.hidden_), np.zeros_like(self.output_)]
        for _ in range(self.n_steps):
            inside = np.tanh(X @ self.hidden_)
            wrong = (self._probability(inside) - label) / len(X)
            back = np.outer(wrong, self.output_[:-1]) * (1 - inside**2)
            slopes = [
                X.T @ back + self.decay * self.hidden_,
                np.append(wrong @ inside, wrong.sum()) + self.decay * self.output_,
            ]
            steps = [0.9 * step - self.rate * slope for step, slope in zip(steps, slopes, strict=True)]
            self.hidden_ += steps[0]
            self.output_ += steps[1]
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        of_second = self._probability(np.tanh(validate_data(self, X, dtype=float, reset=False) @ self.hidden_))
        return np.stack([1 - of_second, of_second], axis=1)

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def _probability(self, inside):
        return 1 / (1 + np.exp(-(inside @ self.output_[:-1] + self.output_[-1])))


print(f"fit takes sample_weight: {has_fit_parameter(SmallNetwork(), 'sample_weight')}")

# %%
# With and without judgments
# --------------------------
#
# The network alone decides for certain, so a broken judgment is broken entirely. With judgments, the model is a mixture
# of networks, each fitted to another draw of people.

people, paid_back = load_german_credit()
roles = Roles(demographics=("age", "personal_status_sex", "foreign_worker"), record=("credit_history", "amount_dm"))
judgments = simulate_panel(people, n_judges=8, n_pairs=15, answers="four", roles=roles, seed=4)

GAMMA = 0.2
settings = {"gamma": GAMMA, "eta": 0.01, "favorable_label": 1, "tol": 1e-3, "random_state": 0}
plain = PairwiseFairClassifier(SmallNetwork(), **settings).fit(people, paid_back)
model = PairwiseFairClassifier(SmallNetwork(), **settings).fit(people, paid_back, judgments=judgments)
print(f"Error without judgments        {plain.certificate_.error:.4f}")
print(f"{len(model.weights_)} networks and constants, the heaviest decides {model.weights_.max():.0%} of the time")
print(model.certificate_)

# %%
# The certificate is heuristic. A network is no proven minimum of anything, and a draw of people is not the people:
# there may be better mixtures of such networks. What the certificate says about violations is measured, not proven, and
# holds. Where a proof is wanted, take ``"tree"``.
#
# What changed for the pairs
# --------------------------
#
# Each judgment in force, with what it was violated by before and after.


def audited(fitted):
    scores = pd.Series(fitted.predict_proba(people)[:, 1], index=people.index)
    return audit(scores, judgments, gamma=GAMMA, favorable_label=1)


before, after = audited(plain), audited(model)
for name, found in (("network alone", before), ("with judgments", after)):
    values = found.overall.loc["value"]
    print(f"{name:15} mean excess {values['mean_excess']:.4f}, judgments followed {values['share_followed']:.2f}")

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
bins = np.append(0, np.linspace(0.1, 1, 10) + 1e-6)  # what is violated by exactly γ is within it
in_force = before.judgments["status"] != "asks nothing"
axes.hist(
    [found.judgments.loc[in_force, "violation"] for found in (before, after)],
    bins,
    label=["network alone", "with judgments"],
    color=["#bbbbbb", "#2b5c8a"],
)
axes.axvline(GAMMA, color="#b4472f", linestyle="--", linewidth=1.2)
axes.text(GAMMA, axes.get_ylim()[1], " γ", color="#b4472f", va="top")
axes.set_xlabel("violation of a judgment")
axes.set_ylabel("judgments")
axes.set_title("German credit, 8 simulated judges", loc="left")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

plt.show()
