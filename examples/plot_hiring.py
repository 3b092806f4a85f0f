"""
Hiring: a table of your own
===========================

From two CSV files to a model and a report. ``hiring.csv`` has 400 **made-up** applicants, one row each;
``hiring_judgments.csv`` has what eight **simulated** judges said about pairs of them. Both lie beside this script, and
with files of your own the steps are the same. Given a folder, ``python examples/plot_hiring.py OUT_DIR`` also writes
the model, the scores and the report there.
"""

# %%
# Read
# ----
#
# Ids go into the index. The outcome, whether someone was hired and stayed, is taken out of the table: it is what the
# model is to predict, and judges were not shown it. ``Judgments.read`` checks every row; an unknown id or answer is
# refused with its line.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import cross_val_score

from fairwise import Judgments, PairwiseFairClassifier, audit
from fairwise.judgments import find_conflicts, krippendorff_alpha
from fairwise.reporting import findings, write_report

HERE = Path(sys.argv[0]).parent  # of this script
people = pd.read_csv(HERE / "hiring.csv", index_col="id")
stayed = people.pop("hired_and_stayed")
judgments = Judgments.read(HERE / "hiring_judgments.csv", people=people)
print(people.head(3).to_string())
print(judgments)

# %%
# Check
# -----
#
# How far the judges agree is known from the pairs that all of them were shown. Disagreement is no error, and nothing is
# dropped for it.

print(krippendorff_alpha(judgments, "same or not"))
print(find_conflicts(judgments))

# %%
# Fit
# ---
#
# ``gamma`` and ``eta`` say how closely the model must follow: two chances may differ by 0.1 against a judgment, and
# nothing beyond that is allowed. Mixtures of trees come with a proof that no other mixture of such trees does better on
# these applicants.

GAMMA = 0.1
trees = {"estimator": "tree", "max_depth": 3, "favorable_label": 1, "random_state": 0}
plain = PairwiseFairClassifier(**trees).fit(people, stayed)
model = PairwiseFairClassifier(gamma=GAMMA, eta=0, **trees).fit(people, stayed, judgments=judgments)
print(f"Error without judgments        {plain.certificate_.error:.4f}")
print(model.certificate_)

# %%
# On applicants that a model was not fitted to, in three folds:

alone = cross_val_score(plain, people, stayed, cv=3)
judged = cross_val_score(model, people, stayed, params={"judgments": judgments}, cv=3)
print(f"Error on applicants held out: without judgments {1 - alone.mean():.4f}, with judgments {1 - judged.mean():.4f}")

# %%
# Predict, and see what changed
# -----------------------------
#
# ``predict_proba`` is a person's chance, ``predict`` a draw with that chance: always the same draw for the same row.
# The figure has the pairs about which the model without judgments broke what most judges said. Applicants 1 and 393
# differ in nothing but their age; all eight judges want them treated the same.


def chances(fitted):
    return pd.Series(fitted.predict_proba(people)[:, 1], index=people.index)


scores = pd.DataFrame({"score": chances(model), "label": model.predict(people)})
audits = {
    "without judgments": audit(chances(plain), judgments, gamma=GAMMA, favorable_label=1),
    "with simulated judgments": audit(chances(model), judgments, gamma=GAMMA, favorable_label=1),
}
for name, found in audits.items():
    values = found.overall.loc["value"]
    print(f"{name:25} mean violation {values['mean_violation']:.3f}, judgments followed {values['share_followed']:.2f}")
print(people.loc[[1, 393]].T.to_string())

worst = audits["without judgments"].by_pair.nlargest(8, ["violation", "judges"])[["a", "b", "judges"]]
places = range(len(worst))
figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, (name, found) in zip(panels, audits.items(), strict=True):
    pairs = worst.merge(found.by_pair, on=["a", "b"])
    axes.hlines(places, pairs["favorable_a"], pairs["favorable_b"], color="#999999")
    axes.scatter(pairs["favorable_a"], places, color="#2b5c8a", zorder=2, label="first")
    axes.scatter(pairs["favorable_b"], places, color="#b4472f", marker="D", zorder=2, label="second")
    axes.set_title(name, loc="left")
    axes.set_xlim(-0.04, 1.04)
    axes.set_xlabel("chance of the good label")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_yticks(places, [f"{pair.a} and {pair.b}" for pair in worst.itertuples()])
panels[0].invert_yaxis()
panels[1].legend(frameon=False, loc="upper left")
figure.suptitle("Made-up applicants whom judges compared", x=0.01, ha="left")

# %%
# Report
# ------
#
# One HTML file for those who decide. It says on top that the judges were simulated.

found = findings(
    model,
    people,
    judgments,
    stayed,
    title="Who is invited: what eight simulated judges asked for",
    question="Should these two have the same chance, or one at least the chance of the other?",
    design="12 random pairs for each judge; for all of them 8 more, and 8 of applicants who are nearly alike.",
    labels={0: "not hired, or left", 1: "hired and stayed"},
    simulated=True,
)
if len(sys.argv) > 1:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    model.save(out / "hiring.skops")
    scores.to_csv(out / "scores.csv")
    write_report(found, out / "report.html")
    print(f"Written to {out}: {', '.join(sorted(path.name for path in out.iterdir()))}")

plt.show()
