"""
A Pipeline with gradient boosting
=================================

Any scikit-learn classifier can be mixed, also one inside a Pipeline with preprocessing of its own. The Pipeline goes
*inside* the fair classifier, so that people who were judged go through the same preprocessing as everyone else. The
result is itself a scikit-learn estimator, for cross-validation and for ``GridSearchCV``.

The people are those of German credit; the ten judges are **simulated**.
"""

# %%
# Judges kept apart
# -----------------
#
# Whoever chooses among models by judgments that the models were fitted to favours those that follow them too closely.
# So six judges are for fitting, four for choosing.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fairwise import PairwiseFairClassifier
from fairwise.auditing import expected_accuracy, violation_scorer
from fairwise.datasets import load_german_credit
from fairwise.simulation import Roles, draw_pairs, simulate_panel

everything, paid_back = load_german_credit()
people = everything[["checking_account", "duration_months", "credit_history", "amount_dm", "savings", "age"]]
roles = Roles(demographics=("age",), record=("credit_history", "amount_dm"))
pairs = draw_pairs(people, n_judges=1, n_pairs=25, seed=2)[0]
panel = simulate_panel(people, n_judges=10, pairs=pairs, answers="four", roles=roles, seed=2)
fitted_to, kept_apart = panel.select(panel.judges[:6]), panel.select(panel.judges[6:])
print(fitted_to, kept_apart, sep="\n")

# %%
# The Pipeline inside
# -------------------
#
# The Pipeline gets the table as it is. Gradient boosting takes ``sample_weight``, so every fit inside is to the people
# weighted by their costs.

boosting = make_pipeline(
    make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            make_column_selector(dtype_exclude="number"),
        ),
        remainder="passthrough",
    ),
    HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=4, learning_rate=0.3, max_bins=16, random_state=0),
)
fair = PairwiseFairClassifier(boosting, gamma=0.1, eta=0.01, favorable_label=1, random_state=0)
fair.fit(people, paid_back, judgments=fitted_to)
print(fair.certificate_)

# %%
# Cross-validation
# ----------------
#
# Judgments go through ``params`` untouched, and carry the people they are about: a judged person outside the training
# fold still constrains the model. ``expected_accuracy`` measures a mixture without the noise of drawing one label for
# each person; ``violation_scorer`` measures minus the violation of judgments.

scoring = {
    "accuracy": expected_accuracy,
    "violation": violation_scorer(kept_apart, favorable_label=1),
}
alone = PairwiseFairClassifier(
    boosting, favorable_label=1, random_state=0
)  # a fit without judgments is the plain model
validated = {
    "boosting alone": cross_validate(alone, people, paid_back, cv=2, scoring=scoring),
    "with judgments": cross_validate(fair, people, paid_back, cv=2, scoring=scoring, params={"judgments": fitted_to}),
}
measured = pd.DataFrame(
    {
        name: {"error": 1 - scores["test_accuracy"].mean(), "violation": -scores["test_violation"].mean()}
        for name, scores in validated.items()
    }
).T
print(measured.round(4))

# %%
# Choosing η
# ----------
#
# The search refits the candidate that keeps most of what the *other* judges said, among three values of ``eta``; give
# ``refit`` a function of ``cv_results_`` for a rule of your own, such as the least violation at an error you can
# accept.

search = GridSearchCV(fair, {"eta": [0.005, 0.02, 0.05]}, scoring=scoring, refit="violation", cv=2)
search.fit(people, paid_back, judgments=fitted_to)
results = pd.DataFrame(search.cv_results_)
print(results[["param_eta", "mean_test_accuracy", "mean_test_violation"]].round(4).to_string(index=False))
print(f"chosen: eta = {search.best_params_['eta']}")

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(-results["mean_test_violation"], 1 - results["mean_test_accuracy"], color="#2b5c8a", marker="o")
for _, line in results.iterrows():
    place = (-line["mean_test_violation"], 1 - line["mean_test_accuracy"])
    axes.annotate(f"η = {line['param_eta']}", place, (6, 6), textcoords="offset points")
axes.scatter(*measured.loc["boosting alone", ["violation", "error"]], color="#888888", marker="s")
axes.set_xlabel("mean violation for the four simulated judges kept apart")
axes.set_ylabel("error on held-out people")
axes.set_title("Three values of η; the square is boosting alone", loc="left")
axes.margins(0.15)
axes.spines[["top", "right"]].set_visible(False)

plt.show()
