"""AIF360's GerryFair learner on one problem: ``python gerryfair_run.py PROBLEM.npz RESULT.json``.

Runs in the peers' own environment and knows nothing of Fairwise. The problem has ``features`` ``(n, d)``, ``outcome``
``(n,)``, 0/1 columns ``protected`` ``(n, p)``, numbers of folds ``fold`` ``(n,)`` and ``settings``, the JSON of a list
of runs; the result is a list of processor seconds, oracle calls and every person's probability of label 1. With
``held_out`` each fold's probabilities are of a learner that was fitted to the others, and the rest are sums.
"""

import json
import logging
import sys
import warnings
from time import process_time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

logging.disable(logging.WARNING)  # about parts of the library that are not installed
warnings.simplefilter("ignore")  # its own, about newer pandas

from aif360.algorithms.inprocessing import GerryFairClassifier  # noqa: E402
from aif360.algorithms.inprocessing.gerryfair import auditor  # noqa: E402
from aif360.datasets import BinaryLabelDataset  # noqa: E402


class MendedAuditor(auditor.Auditor):
    """Charges each person for their own group.

    In the released version the index of the person is set back to 0 at every step of the loop over people, so that all
    of them pay for the group of the first, and no group is ever told from another.
    """

    def update_costs(self, c_0, c_1, group, C, iteration, gamma):  # noqa: ANN001, ANN201
        n, negative = len(self.y), np.asarray(self.y) == 0
        members = np.zeros(n)
        members[negative] = group.func.predict(self.X_prime_0)
        charge = 0.0
        if abs(group.weighted_disparity) >= gamma:
            charge = group.disparity_direction * C / iteration * (members[negative].mean() - members[negative])
        costs = np.array(c_1)
        costs[negative] = (1 + charge) / n + (costs[negative] - 1 / n) * (iteration - 1) / iteration
        return c_0, tuple(costs)


def main(problem_path: str, result_path: str) -> None:
    problem = np.load(problem_path)
    people = pd.DataFrame(problem["features"]).add_prefix("feature ")
    protected = pd.DataFrame(problem["protected"]).add_prefix("protected ")
    dataset = BinaryLabelDataset(
        df=pd.concat([people, protected, pd.Series(problem["outcome"], name="outcome")], axis=1).astype(float),
        label_names=["outcome"],
        protected_attribute_names=list(protected.columns),
    )
    with threadpool_limits(1):  # as ours
        runs = [run(dataset, problem["fold"], **settings) for settings in json.loads(str(problem["settings"]))]
    with open(result_path, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(runs, file)


def run(
    dataset: BinaryLabelDataset, fold: np.ndarray, *, mended: bool, held_out: bool = False, **settings: float
) -> dict:
    sys.modules[GerryFairClassifier.__module__].Auditor = MendedAuditor if mended else auditor.Auditor
    everybody = np.ones(len(fold), dtype=bool)
    parts = [(fold != each, fold == each) for each in np.unique(fold)] if held_out else [(everybody, everybody)]
    took, oracle_calls, probability = 0.0, 0, np.empty(len(fold))
    for fitted, predicted in parts:
        model = GerryFairClassifier(fairness_def="FP", **settings)
        people = dataset.subset(np.flatnonzero(fitted))
        start = process_time()
        model.fit(people)
        took += process_time() - start
        oracle_calls += len(model.classifiers)
        others = dataset.subset(np.flatnonzero(predicted))
        probability[predicted] = model.predict(others, threshold=False).labels.ravel()
    return {"seconds": took, "oracle_calls": oracle_calls, "probability": probability.tolist()}


if __name__ == "__main__":
    main(*sys.argv[1:])
