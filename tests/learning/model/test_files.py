"""A saved model is the same model, and nothing else is opened."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import removal_saving
from fairwise.errors import InputError, ModelFileError, ModelVersionWarning

if TYPE_CHECKING:
    from pathlib import Path

    from tests.learning.conftest import Town


def pipeline() -> Any:
    columns = make_column_transformer(
        (StandardScaler(), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ("passthrough", ["member"]),
    )
    return make_pipeline(columns, LogisticRegression())


KINDS: dict[str, dict[str, Any]] = {
    "linear": {"estimator": "linear"},
    "linear-regression": {"estimator": "linear-regression"},
    "no-regret": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 30},
    "tree": {"estimator": "tree", "random_state": 5},
    "deeper tree": {"estimator": "tree", "max_depth": 3, "max_thresholds": 5},
    "logistic": {"estimator": LogisticRegression()},
    "pipeline": {"estimator": pipeline()},
    "budgets": {"estimator": "tree", "eta": 0.02, "judge_budgets": {"ann": 0.05}, "favorable_label": np.int64(0)},
}


def fitted(town: Town, **given: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(**({"gamma": 0.1} | given)).fit(town.people, town.outcome, judgments=town.judgments)


def test_prices_keep_which_judgments_were_predicted(town: Town, tmp_path: Path) -> None:
    frame = town.judgments.frame
    frame.loc[frame.index[-1], ["design", "error_bound"]] = "predicted", 0.1
    model = PairwiseFairClassifier("tree", favorable_label=1)
    model.fit(town.people, town.outcome, judgments=Judgments(frame, people=town.people))
    model.save(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    assert again.prices_["predicted"].sum() == 1
    pd.testing.assert_frame_equal(again.prices_, model.prices_)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_after_a_round_trip_are_identical(town: Town, tmp_path: Path, kind: str) -> None:
    model = fitted(town, **KINDS[kind])
    model.save(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    assert np.array_equal(again.predict_proba(town.people), model.predict_proba(town.people))
    assert np.array_equal(again.predict(town.people), model.predict(town.people))
    assert np.array_equal(again.weights_, model.weights_)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.certificate_ == model.certificate_
    assert str(again.certificate_) == str(model.certificate_)
    pd.testing.assert_frame_equal(again.prices_, model.prices_)
    pd.testing.assert_frame_equal(again.trajectory_, model.trajectory_)
    assert again.feature_names_in_.tolist() == town.people.columns.tolist()
    assert again.n_features_in_ == 4
    assert repr(again) == repr(model)


IN_PARTS_OF_C = [
    DecisionTreeClassifier(max_depth=2),
    KNeighborsClassifier(5),
    make_pipeline(make_column_transformer((SimpleImputer(), ["age", "income"])), LogisticRegression()),
]


@pytest.mark.parametrize("estimator", IN_PARTS_OF_C, ids=["tree", "neighbours", "imputer"])
def test_what_skops_does_not_know_can_be_trusted(town: Town, tmp_path: Path, estimator: Any) -> None:
    model = fitted(town, estimator=estimator)
    model.save(tmp_path / "model.skops")
    named = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops", trusted=named)
    assert np.array_equal(again.predict_proba(town.people), model.predict_proba(town.people))


@pytest.mark.parametrize("estimator", IN_PARTS_OF_C, ids=["tree", "neighbours", "imputer"])
def test_scikit_learns_own_types_need_no_trust(town: Town, tmp_path: Path, estimator: Any) -> None:
    """As ``load`` says of itself."""
    fitted(town, estimator=estimator).save(tmp_path / "model.skops")
    PairwiseFairClassifier.load(tmp_path / "model.skops")


def members(model: PairwiseFairClassifier) -> list[Any]:
    return [member for member in model.classifiers_.state()["members"] if not isinstance(member, int)]


def test_shared_transformers_are_in_the_file_once_and_shared_again(town: Town, tmp_path: Path) -> None:
    model = fitted(town, **KINDS["pipeline"])
    model.save(tmp_path / "model.skops")
    document = skops.io.load(
        tmp_path / "model.skops", trusted=skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    )
    assert len(members(model)) > 1
    n_different = len({id(member.steps[0][1]) for member in members(model)})
    assert len(document["classifiers"]["transformers"]) == n_different < len(members(model))
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert len({id(member.steps[0][1]) for member in members(again)}) == n_different
    assert [repr(member) for member in members(again)] == [repr(member) for member in members(model)]


def changed(path: Path, **changes: Any) -> Path:
    """The same file with some entries replaced."""
    document = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    skops.io.dump(document | changes, path.with_name("changed.skops"))
    return path.with_name("changed.skops")


def test_other_versions_are_named_once_where_they_matter(town: Town, tmp_path: Path) -> None:
    for name, kind in (("own.skops", "pipeline"), ("tree.skops", "tree")):
        fitted(town, **KINDS[kind]).save(tmp_path / name)
    older = {"fairwise_version": "0.1.0", "sklearn_version": "1.0"}
    with pytest.warns(ModelVersionWarning) as told:
        PairwiseFairClassifier.load(changed(tmp_path / "own.skops", **older))
    (warning,) = told
    assert "saved with fairwise 0.1.0 and scikit-learn 1.0, opened with fairwise " in str(warning.message)
    assert warning.filename == __file__
    with pytest.warns(ModelVersionWarning, match=r"saved with fairwise 0\.1\.0, opened with fairwise [\d.]+\. Its"):
        PairwiseFairClassifier.load(changed(tmp_path / "tree.skops", **older))
    PairwiseFairClassifier.load(changed(tmp_path / "tree.skops", sklearn_version="1.0"))  # nothing of it is inside


@pytest.mark.parametrize("uses", [[7], [-2], [0.0], [0, 0], "x", [-1]])
def test_transformers_that_are_not_there_are_refused(town: Town, tmp_path: Path, uses: Any) -> None:
    model = PairwiseFairClassifier(pipeline()).fit(town.people, town.outcome)
    model.save(tmp_path / "model.skops")
    path = tmp_path / "model.skops"
    document = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    packed = document["classifiers"] | {"uses": np.array(uses) if isinstance(uses, list) else uses}
    if uses == [-1]:  # a member that is no Pipeline has nothing before it
        packed |= {"members": [1], "uses": np.array([0])}
    with pytest.raises(ModelFileError, match=r"damaged or changed \(a Pipeline's transformers are not there"):
        PairwiseFairClassifier.load(changed(path, classifiers=packed))


def test_a_random_state_comes_back(town: Town, tmp_path: Path) -> None:
    model = fitted(town, estimator="tree", random_state=np.random.RandomState(1))
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict(town.people), model.predict(town.people))


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (0.0, 1.0)])
def test_classes_come_back_as_they_were(town: Town, tmp_path: Path, labels: tuple[Any, Any]) -> None:
    outcome = [labels[value] for value in town.outcome]
    model = PairwiseFairClassifier("tree").fit(town.people, outcome, judgments=town.judgments)
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert again.classes_.tolist() == list(labels)
    assert again.predict(town.people).tolist() == model.predict(town.people).tolist()
    assert type(again.predict(town.people)[0]) is type(model.predict(town.people)[0])


def test_a_derandomised_model_keeps_its_rule(town: Town, tmp_path: Path) -> None:
    for single in (
        fitted(town, estimator="tree").derandomize(mean_violation=0.5),
        fitted(town, estimator="tree").derandomize(mean_violation=0.0),
    ):
        single.save(tmp_path / "model.skops")
        again = PairwiseFairClassifier.load(tmp_path / "model.skops")
        assert np.array_equal(again.predict_proba(town.people), single.predict_proba(town.people))
        assert again.derandomization_ == single.derandomization_


def test_a_loaded_model_can_be_saved_and_is_simplified_with_its_people_alone(town: Town, tmp_path: Path) -> None:
    fitted(town, estimator="tree").save(tmp_path / "one.skops")
    again = PairwiseFairClassifier.load(tmp_path / "one.skops")
    again.save(tmp_path / "two.skops")
    third = PairwiseFairClassifier.load(tmp_path / "two.skops")
    assert np.array_equal(third.predict_proba(town.people), again.predict_proba(town.people))
    for simplify in (again.simplify, again.derandomize):
        with pytest.raises(InputError, match="Give what it was fitted to again"):
            simplify()


def test_what_a_smaller_model_cost_is_kept(town: Town, tmp_path: Path) -> None:
    smaller = fitted(town, estimator="tree").simplify(max_classifiers=2)
    smaller.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert again.simplification_ == smaller.simplification_
    assert again.certificate_ == smaller.certificate_


def test_no_person_is_in_the_file(town: Town, tmp_path: Path) -> None:
    """Neither the people nor what anyone said about them."""
    model = fitted(town, estimator="tree")
    model.save(tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert not any(person.encode() in content for person in town.outsiders.index)
    assert b"pickle" not in content
    said = model.prices_
    named = {str(value) for name in ("judge", "a", "b", "answer") for value in said[name]}
    assert len(named) > 10
    assert not [name for name in named if f'\\"{name}\\"'.encode() in content]


def test_a_loaded_model_says_where_its_prices_are(town: Town, tmp_path: Path) -> None:
    model, file, beside = fitted(town, estimator="tree"), tmp_path / "model.skops", tmp_path / "prices.parquet"
    model.save(file)
    with pytest.raises(InputError, match=r"holds no single judgment.*load\('model\.skops', prices='prices\.parquet'\)"):
        _ = PairwiseFairClassifier.load(file).prices_
    with pytest.raises(InputError, match="holds no single judgment"):
        removal_saving(PairwiseFairClassifier.load(file), town.people, town.outcome, town.judgments)
    with pytest.raises(ModelFileError, match=r"prices\.parquet: no such file"):
        PairwiseFairClassifier.load(file, prices=beside)
    for odd, words in (
        (pd.DataFrame({"judge": ["a"]}), "the column 'a' is missing"),
        (model.prices_.assign(price="much"), "the column 'price' is not of numbers"),
        (model.prices_.assign(status="liked"), "row 1: status 'liked'; allowed: 'followed'"),
    ):
        odd.to_parquet(beside)
        with pytest.raises(ModelFileError, match=words):
            PairwiseFairClassifier.load(file, prices=beside)
    beside.write_bytes(b"no table")
    with pytest.raises(ModelFileError, match=r"prices\.parquet: not a file of prices"):
        PairwiseFairClassifier.load(file, prices=beside)


def test_only_a_fitted_model_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        PairwiseFairClassifier().save(tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


class Homemade(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        self.cut_ = np.average(np.asarray(X)[:, 0], weights=sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > self.cut_).astype(int)


def test_a_type_that_is_not_known_to_be_safe_is_refused_by_name(town: Town, tmp_path: Path) -> None:
    model = fitted(town, estimator=Homemade())
    with pytest.warns(UserWarning, match="Homemade"):
        model.save(tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"model\.skops: refused.*Homemade.*trusted=") as refused:
        PairwiseFairClassifier.load(tmp_path / "model.skops")
    name = next(word for word in str(refused.value).replace(",", " ").split() if "Homemade" in word).rstrip(".")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops", trusted=[name])
    assert np.array_equal(again.predict_proba(town.people), model.predict_proba(town.people))
    with pytest.raises(ModelFileError, match="Homemade"):
        PairwiseFairClassifier.load(tmp_path / "model.skops", trusted=["somebody.Else"])


def a_model(town: Town, path: Path) -> bytes:
    fitted(town, estimator="tree").save(path)
    return path.read_bytes()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="a folder, not a fairwise model file"):
        PairwiseFairClassifier.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"nowhere\.skops: no such file"):
        PairwiseFairClassifier.load(tmp_path / "nowhere.skops")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(town: Town, tmp_path: Path, share: float) -> None:
    whole = a_model(town, tmp_path / "model.skops")
    (tmp_path / "part.skops").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match=r"part\.skops: not a fairwise model file"):
        PairwiseFairClassifier.load(tmp_path / "part.skops")


@pytest.mark.parametrize("content", [b"", b"judge,a,b,answer\n", b"PK\x03\x04 but no archive"])
def test_any_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"other\.skops: not a fairwise model file"):
        PairwiseFairClassifier.load(tmp_path / "other.skops")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="not a fairwise model file"):
        PairwiseFairClassifier.load(tmp_path)


@pytest.mark.parametrize("schema", [None, "", "[]", "{}", '{"__class__": "dict"}', '{"protocol": 2}'])
def test_any_other_archive_is_refused(tmp_path: Path, schema: str | None) -> None:
    with zipfile.ZipFile(tmp_path / "other.skops", "w") as archive:
        archive.writestr("readme.txt" if schema is None else "schema.json", schema or "")
    with pytest.raises(ModelFileError, match=r"other\.skops"):
        PairwiseFairClassifier.load(tmp_path / "other.skops")


@pytest.mark.parametrize("content", [{"weights": [1.0]}, [1, 2], LogisticRegression()], ids=["dict", "list", "sklearn"])
def test_a_skops_file_of_something_else_is_refused(tmp_path: Path, content: Any) -> None:
    skops.io.dump(content, tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match="a skops file, but not a fairwise model"):
        PairwiseFairClassifier.load(tmp_path / "other.skops")


def test_another_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    skops.io.dump({"fairwise_model": 99}, tmp_path / "later.skops")
    with pytest.raises(ModelFileError, match="format 99, this version reads format 2"):
        PairwiseFairClassifier.load(tmp_path / "later.skops")


@pytest.mark.parametrize("lost", ["settings", "weights", "classifiers", "certificate", "kind"])
def test_a_model_with_a_part_missing_is_refused(town: Town, tmp_path: Path, lost: str) -> None:
    a_model(town, tmp_path / "model.skops")
    document = skops.io.load(tmp_path / "model.skops")
    del document[lost]
    skops.io.dump(document, tmp_path / "part.skops")
    with pytest.raises(ModelFileError, match=r"part\.skops"):
        PairwiseFairClassifier.load(tmp_path / "part.skops")


def test_a_model_with_a_setting_from_elsewhere_is_refused(town: Town, tmp_path: Path) -> None:
    a_model(town, tmp_path / "model.skops")
    document = skops.io.load(tmp_path / "model.skops")
    document["settings"]["kindness"] = 1.0
    skops.io.dump(document, tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match=r"other\.skops"):
        PairwiseFairClassifier.load(tmp_path / "other.skops")


def test_a_failed_save_leaves_no_file(monkeypatch: pytest.MonkeyPatch, town: Town, tmp_path: Path) -> None:
    model = fitted(town, estimator="tree")

    def full_disk(_: Any, path: Path, **_packing: Any) -> None:
        path.write_bytes(b"half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(skops.io, "dump", full_disk)
    with pytest.raises((OSError, ModelFileError), match="No space left"):
        model.save(tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_keeps_the_old_file(monkeypatch: pytest.MonkeyPatch, town: Town, tmp_path: Path) -> None:
    before = a_model(town, tmp_path / "model.skops")
    model = fitted(town, estimator="linear")

    def full_disk(_: Any, path: Path, **_packing: Any) -> None:
        path.write_bytes(b"half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(skops.io, "dump", full_disk)
    with pytest.raises((OSError, ModelFileError), match="No space left"):
        model.save(tmp_path / "model.skops")
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]
    assert (tmp_path / "model.skops").read_bytes() == before


def test_a_place_that_is_not_there_is_an_error_of_our_own(town: Town, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere"):
        fitted(town, estimator="tree").save(tmp_path / "nowhere" / "model.skops")


def test_a_new_save_replaces_the_old_file(town: Town, tmp_path: Path) -> None:
    a_model(town, tmp_path / "model.skops")
    model = fitted(town, estimator="linear")
    model.save(str(tmp_path / "model.skops"))
    again = PairwiseFairClassifier.load(str(tmp_path / "model.skops"))
    assert np.array_equal(again.predict_proba(town.people), model.predict_proba(town.people))


@pytest.mark.parametrize("estimator", ["linear", "tree", LogisticRegression()], ids=str)
def test_a_file_names_no_class_of_ours_so_that_modules_may_move(estimator: Any, town: Town, tmp_path: Path) -> None:
    model = PairwiseFairClassifier(estimator).fit(town.people, town.outcome, judgments=town.judgments)
    model.save(tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        assert "fairwise." not in archive.read("schema.json").decode()
