"""Model files that are whole, but hold numbers that would end the interpreter: they are refused in a sentence."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import skops.io
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
TIMES = 100
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {"x": RNG.normal(size=N).round(2), "z": RNG.integers(0, 4, N), "city": RNG.choice(["a", "b", "c"], N)}
)
OUTCOME = (PEOPLE["x"] + RNG.normal(size=N) * 0.5 > 0).astype(int)
MODELS: dict[str, Any] = {
    "linear": "linear",
    "own tree": "tree",
    "tree": DecisionTreeClassifier(max_depth=3),
    "machine": SVC(),
}
OWN = ("linear", "own tree")


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


CHANGES: dict[str, tuple[str, Callable[[Document], Any], str]] = {
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


@pytest.mark.parametrize("foreign", ["tree", "machine"])
def test_own_models_need_nothing_of_scikit_learn(whole: dict[str, bytes], tmp_path: Path, foreign: str) -> None:
    """Types of scikit-learn are refused by name in a file of another kind, before anything of it is made."""
    document = opened(whole["own tree"])
    document["settings"]["nu"] = opened(whole[foreign])["classifiers"]["members"]
    skops.io.dump(document, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"not known to be safe: sklearn\.(tree|svm)\._"):
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
def test_no_changed_number_of_our_own_models_ends_the_interpreter(
    tried: Tried, whole: dict[str, bytes], tmp_path: Path
) -> None:
    """Whatever is changed in a file: it is refused, or the model decides, or Python says what is wrong."""
    (tmp_path / "files").mkdir()
    for name in OWN:
        for number in range(how_many(TIMES)):
            changed = crafted(whole[name], rng_of(name, number))
            if tried.is_new(changed):
                (tmp_path / "files" / f"{name} {number}.skops").write_bytes(changed)
    PEOPLE.to_pickle(tmp_path / "people.pickle")
    command = [sys.executable, "-X", "faulthandler", "-c", TRY_ALL, str(tmp_path / "people.pickle")]
    done = subprocess.run([*command, str(tmp_path / "files")], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-3000:])
    assert len(lines) == len(list((tmp_path / "files").iterdir()))
    assert all(any(line.startswith(name) and line.endswith("refused False") for line in lines) for name in OWN)
