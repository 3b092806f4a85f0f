"""Model files that are whole, but hold numbers that would end the interpreter: they are refused in a sentence."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.support.crafted_models import crafted
from tests.support.tried import how_many, rng_of

from fairwise import PairwiseFairClassifier
from fairwise.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.tried import Tried

    Document = dict[str, Any]

N = 40
TIMES = 30
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {"x": RNG.normal(size=N).round(2), "z": RNG.integers(0, 4, N), "city": RNG.choice(["a", "b", "c"], N)}
)
OUTCOME = (PEOPLE["x"] + RNG.normal(size=N) * 0.5 > 0).astype(int)
SPARSE = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city", "z"]), sparse_threshold=1.0)
MODELS: dict[str, Any] = {
    "linear": "linear",
    "own tree": "tree",
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(3, max_depth=3),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, categorical_features=[2, 3, 4]),
    "search tree": KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=5),
    "ball tree": KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=5),
    "neighbours": KNeighborsClassifier(3, algorithm="brute"),
    "machine": SVC(),
    "sparse machine": make_pipeline(SPARSE, SVC()),
    "sparse boosting": make_pipeline(SPARSE, GradientBoostingClassifier(n_estimators=2)),
    "splines": make_pipeline(make_column_transformer((SplineTransformer(n_knots=3), ["x"])), LogisticRegression()),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Each model as a file."""
    files, path = {}, tmp_path_factory.mktemp("models") / "model.skops"
    for name, estimator in MODELS.items():
        PairwiseFairClassifier(estimator, random_state=0).fit(PEOPLE, OUTCOME).save(path)
        files[name] = path.read_bytes()
    return files


def opened(data: bytes) -> Document:
    document: Document = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    return document


def member(document: Document) -> Any:
    return document["classifiers"]["members"][0]


def last(document: Document) -> Any:
    return member(document)[-1]


def of_tree(tree: Any, **changes: Any) -> None:
    """Set a field of the first node of a scikit-learn tree."""
    state = tree.__getstate__()
    for field, value in changes.items():
        state["nodes"][field][0] = value
    tree.__setstate__(state)


def of_boosted(model: Any, **changes: Any) -> None:
    for (tree,) in model._predictors:
        tree.nodes[list(changes)] = tuple(changes.values())


def shuffled(tree: Any) -> None:
    points, order, *rest = tree.__getstate__()
    tree.__setstate__((points, np.full_like(order, 2**40), *rest))


def transformer(document: Document) -> Any:
    """The one before the first member's last step."""
    ((_, found),) = document["classifiers"]["transformers"][0]
    return found


def encoder(document: Document) -> Any:
    return transformer(document).named_transformers_["onehotencoder"]


def spline(document: Document) -> Any:
    return transformer(document).named_transformers_["splinetransformer"].bsplines_[0]


CHANGES: dict[str, tuple[str, Callable[[Document], Any], str]] = {
    "child outside": ("tree", lambda d: of_tree(member(d).tree_, left_child=2**40), "a child that is no node"),
    "negative child": ("tree", lambda d: of_tree(member(d).tree_, right_child=-7), "a child that is no node"),
    "endless path": ("tree", lambda d: of_tree(member(d).tree_, left_child=0, right_child=0), "an endless path"),
    "column outside": ("tree", lambda d: of_tree(member(d).tree_, feature=99), "a column that is not there"),
    "negative column": ("tree", lambda d: of_tree(member(d).tree_, feature=-1), "a column that is not there"),
    "other columns": ("tree", lambda d: setattr(member(d), "n_features_in_", 1), "another number of columns"),
    "unknown columns": ("tree", lambda d: delattr(member(d), "n_features_in_"), "another number of columns"),
    "deep in a forest": ("forest", lambda d: of_tree(member(d).estimators_[2].tree_, feature=99), "a column that"),
    "boosted column": ("boosting", lambda d: of_tree(member(d).estimators_[1, 0].tree_, feature=99), "a column that"),
    "boosted columns": ("boosting", lambda d: setattr(member(d), "n_features_in_", 9), "another number of columns"),
    "boosted steps": (
        "boosting",
        lambda d: setattr(member(d), "estimators_", np.repeat(member(d).estimators_, 9, axis=1)),
        "not one in each step",
    ),
    "histogram child": ("histograms", lambda d: of_boosted(member(d), left=2**31, is_leaf=0), "a child that is no"),
    "histogram path": ("histograms", lambda d: of_boosted(member(d), right=0, is_leaf=0), "an endless path"),
    "histogram column": (
        "histograms",
        lambda d: of_boosted(member(d), feature_idx=2**40, left=2**31),
        "a boosted tree",
    ),
    "categories": (
        "histograms",
        lambda d: setattr(member(d)._bin_mapper, "bin_thresholds_", [np.array([300.0])] * 5),
        "a category's number is above 255",
    ),
    "never over": ("histograms", lambda d: setattr(member(d), "_in_fit", True), "their fit is not over"),
    "other encoding": (
        "histograms",
        lambda d: setattr(member(d)._preprocessor, "transformers_", member(d)._preprocessor.transformers_[::-1]),
        "encode columns in another way",
    ),
    "classes": ("neighbours", lambda d: setattr(member(d), "_y", member(d)._y + 2**40), "a class that is not there"),
    "points": ("neighbours", lambda d: setattr(member(d), "_fit_X", member(d)._fit_X[:, :1]), "of another number"),
    "support": ("machine", lambda d: setattr(member(d), "_n_support", np.array([9**9, -3], np.int32)), "different"),
    "coefficients": ("machine", lambda d: setattr(member(d), "_dual_coef_", np.zeros((1, 2))), "different numbers"),
    "sparse indices": ("sparse machine", lambda d: last(d).support_vectors_.indices.fill(9**9), "indices"),
    "one-hot": (
        "sparse boosting",
        lambda d: setattr(encoder(d), "categories_", [np.repeat(c, 2) for c in encoder(d).categories_]),
        "categories and their columns are of different numbers",
    ),
    "knots": ("splines", lambda d: setattr(spline(d), "t", spline(d).t[::-1].copy()), "Knots must be"),
    "own column": ("own tree", lambda d: d["classifiers"]["feature"].fill(99), "a column that is not there"),
    "own children": ("own tree", lambda d: d["classifiers"].update(leaf=np.zeros((1, 3), np.uint8)), "trees have"),
    "no numbers": ("own tree", lambda d: d["classifiers"].update(feature=np.full((2, 3), np.nan)), "no array"),
    "width": ("linear", lambda d: d["classifiers"].update(coef=d["classifiers"]["coef"][:, :1]), "one for each col"),
    "infinite": ("linear", lambda d: d["classifiers"]["coef"].fill(np.inf), "a coefficient is no number"),
    "intercepts": ("linear", lambda d: d["classifiers"].update(intercept=np.zeros(0)), "one for each"),
    "weight": ("linear", lambda d: d["weights"].fill(-1.0), "the weights are not one for each classifier"),
    "weights": ("linear", lambda d: d.update(weights=np.full(9, 1 / 9)), "the weights are not one for each classifier"),
    "half a weight": ("linear", lambda d: d.update(weights=d["weights"] / 2), "1 together"),
    "scale": ("linear", lambda d: d["encoder"][0].update(scale=0.0), "shifted or scaled by what is no number"),
    "columns": ("linear", lambda d: d["encoder"].pop(), "more or fewer columns are encoded"),
    "encoder": ("linear", lambda d: d.update(encoder=None), "not said how columns are encoded"),
    "one outcome": ("linear", lambda d: d.update(classes=[0]), "the outcomes are not two or more"),
    "equal outcomes": ("linear", lambda d: d.update(classes=[1, 1]), "the outcomes are not two or more"),
    "more outcomes": ("linear", lambda d: d.update(classes=[0, 1, 2]), "coefficients are not one for each column"),
    "threshold": ("linear", lambda d: d.update(threshold=float("nan")), "the threshold is no number"),
    "seed": ("linear", lambda d: d.update(seed="x"), "the seed is no whole number"),
    "table": ("linear", lambda d: d["trajectory"].update(error=[0.5] * 99), "columns of different lengths"),
    "member": ("machine", lambda d: d["classifiers"].update(members=[7]), "a classifier is none"),
    "more types": ("linear", lambda d: d["settings"].update(nu=SVC()), "holds nothing of scikit-learn's"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_number_is_refused_before_compiled_code_reads_it(
    whole: dict[str, bytes], tmp_path: Path, change: str
) -> None:
    name, apply, told = CHANGES[change]
    document = opened(whole[name])
    apply(document)
    skops.io.dump(document, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=rf"model\.skops: a fairwise model, but damaged or changed \(.*{told}"):
        PairwiseFairClassifier.load(tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["search tree", "ball tree"])
def test_a_search_tree_is_built_from_its_points(whole: dict[str, bytes], tmp_path: Path, name: str) -> None:
    """Where the file says its points are is never read."""
    (tmp_path / "good.skops").write_bytes(whole[name])
    good = PairwiseFairClassifier.load(tmp_path / "good.skops")
    document = opened(whole[name])
    shuffled(member(document)._tree)
    skops.io.dump(document, tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    trees: list[Any] = [model.classifiers_.state()["members"][0]._tree for model in (again, good)]
    for found, expected in zip(*(tree.get_arrays() for tree in trees), strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(again.predict_proba(PEOPLE), good.predict_proba(PEOPLE))


@pytest.mark.parametrize("count", [0, -1])
def test_a_tree_without_nodes_is_refused(whole: dict[str, bytes], tmp_path: Path, count: int) -> None:
    with zipfile.ZipFile(io.BytesIO(whole["tree"])) as old, zipfile.ZipFile(tmp_path / "model.skops", "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            if entry == "schema.json":
                schema = json.loads(content, object_hook=lambda node: _counted(node, count))
                content = json.dumps(schema).encode()
            new.writestr(entry, content)
    with pytest.raises(ModelFileError, match="more nodes than are written, or none"):
        PairwiseFairClassifier.load(tmp_path / "model.skops")


def _counted(node: dict[str, Any], count: int) -> dict[str, Any]:
    if "node_count" in node:
        node["node_count"]["content"] = str(count)
    return node


def test_own_models_need_nothing_of_scikit_learn(whole: dict[str, bytes], tmp_path: Path) -> None:
    """A tree of scikit-learn's is refused by name in a file of another kind, before it is made."""
    document = opened(whole["own tree"])
    document["settings"]["nu"] = opened(whole["tree"])["classifiers"]["members"]
    skops.io.dump(document, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"not known to be safe: sklearn\.tree\._tree\.Tree"):
        PairwiseFairClassifier.load(tmp_path / "model.skops")


TRY_ALL = """
import sys, warnings
from pathlib import Path
import pandas as pd
from fairwise import PairwiseFairClassifier
from fairwise.errors import ModelFileError

warnings.simplefilter("ignore")
people = pd.read_pickle(sys.argv[1])
for path in sorted(Path(sys.argv[2]).iterdir()):
    print(path.name, end=" ", flush=True)
    try:
        model = PairwiseFairClassifier.load(path)
    except ModelFileError as error:
        print("refused", "Traceback" in str(error))
        continue
    try:
        model.predict_proba(people)
    except Exception:
        print("failed")
    else:
        print("taken")
"""


@pytest.mark.slow
def test_no_changed_number_ends_the_interpreter(tried: Tried, whole: dict[str, bytes], tmp_path: Path) -> None:
    """Whatever is changed in a file: it is refused, or the model decides, or Python says what is wrong."""
    (tmp_path / "files").mkdir()
    for name, content in whole.items():
        for number in range(how_many(TIMES)):
            changed = crafted(content, rng_of(name, number))
            if tried.is_new(changed):
                (tmp_path / "files" / f"{name} {number}.skops").write_bytes(changed)
    PEOPLE.to_pickle(tmp_path / "people.pickle")
    command = [sys.executable, "-X", "faulthandler", "-c", TRY_ALL, str(tmp_path / "people.pickle")]
    done = subprocess.run([*command, str(tmp_path / "files")], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-3000:])
    assert len(lines) == len(list((tmp_path / "files").iterdir()))
    assert all(any(line.startswith(name) and line.endswith("refused False") for line in lines) for name in whole)
