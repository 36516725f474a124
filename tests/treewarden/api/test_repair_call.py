"""``treewarden.repair``: the file that passes, and an estimator that does, checked by predicting and auditing again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import treewarden as tw
from tests.treewarden.api.conftest import pack
from treewarden.api.refits import pruned_copy
from treewarden.api.result import in_python
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.tables.frames import table_of_frame
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.reports.document.packing import read_document

INPUTS = ["age", "sex"]


def said_by(tree, frame):
    table = table_of_frame(frame)
    return labels(tree, predict(tree, {each.name: table.column(each) for each in tree.features}))


def test_the_attempts_are_those_of_the_command_line(files):
    asked = ("--policy", files.policy("harsh"), "--jobs", "1", "--list", "--format", "json")
    told = in_python(read_document(files.run("repair", *asked).stdout.encode()))
    fixed = tw.repair(
        files.model,
        pd.read_csv(files.table),
        sensitive="flu",
        policy=files.policy("harsh"),
        jobs=1,
        every=True,
    )
    said = fixed.to_dict()
    assert said["repair"] == told.model_dump(mode="json", by_alias=True)["repair"]
    assert list(fixed.attempts["name"]) == [each["name"] for each in said["repair"]["attempts"]]
    assert fixed.estimator is None


def test_the_file_is_the_one_that_the_command_line_writes(files, tmp_path):
    out = tmp_path / "out.pmml"
    done = files.run("repair", "--policy", files.policy("harsh"), "--jobs", "1", "-o", out)
    assert done.exit_code == 0
    asked = {"sensitive": "flu", "policy": files.policy("harsh"), "jobs": 1}
    fixed = tw.repair(files.model, files.table, **asked)
    assert fixed.model_bytes == out.read_bytes()
    path = fixed.save_model(tmp_path / "again.pmml")
    assert path.read_bytes() == out.read_bytes()
    assert fixed.result.passed
    assert fixed.original.verdict == "FAIL"
    with pytest.raises(tw.OutputError, match="is an input"):
        fixed.save_model(files.model)


def test_a_tree_that_pruning_mends_comes_back_as_an_estimator(tree, frame, quick):
    fixed = tw.repair(tree, frame, sensitive="ill", policy=pack(k_anonymity=20), **quick)
    assert fixed.result.passed
    assert fixed.suggestion is None
    assert fixed.estimator_result.passed
    pruned, published = fixed.estimator, load_tree(fixed.model_bytes, "published")
    assert pruned.get_n_leaves() == len(published.leaves) < tree.get_n_leaves()
    assert list(pruned.predict(frame[INPUTS])) == said_by(published, frame)
    again = tw.audit(pruned, frame, sensitive="ill", policy=pack(k_anonymity=20), **quick)
    assert again.passed
    assert pruned.tree_.max_depth <= tree.tree_.max_depth
    assert tree.get_n_leaves() == 5  # the given one is left as it was


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_every_way_to_cut_a_tree_back_predicts_as_the_tree_that_is_left(kind, noise):
    inputs = noise[["a", "b", "c"]]
    grown = kind(max_depth=5, random_state=0).fit(inputs, noise["y"])
    whole = open_fitted(grown, target="y").model
    random = np.random.default_rng(1)
    for _ in range(20):
        left = _cut_at_random(whole, random)
        found = pruned_copy(grown, left)
        assert [class_label(each) for each in found.predict(inputs)] == said_by(left, noise)
        assert found.get_n_leaves() == len(left.leaves)
        assert found.get_depth() == left.depth


def _cut_at_random(tree, random):
    """Return a tree with some of its inner nodes made leaves."""
    ends = {node.index for node in tree.nodes if random.random() < 0.25}
    kept, number = [], {}
    for node in tree.nodes:
        above = node.parent
        if above is not None and (above not in number or above in ends):
            continue
        number[node.index] = len(kept)
        kept.append(node)
    made = []
    for node in kept:
        children = () if node.index in ends else tuple(number[each] for each in node.children)
        made.append(
            replace(
                node,
                index=number[node.index],
                parent=None if node.parent is None else number[node.parent],
                children=children,
                default_child=number.get(node.default_child) if children else None,
            )
        )
    return replace(tree, nodes=tuple(made))


def test_a_tree_that_is_no_cut_of_the_estimator_gives_no_copy(tree, noise):
    other = DecisionTreeClassifier(max_depth=1).fit(noise[["a"]], noise["y"])
    larger = DecisionTreeClassifier().fit(noise[["a", "b"]], noise["y"])
    assert pruned_copy(other, open_fitted(larger, target="y").model) is None
    assert pruned_copy(object(), open_fitted(larger, target="y").model) is None


def test_a_regression_tree_comes_back_too(frame, quick):
    told = frame.assign(pay=frame["age"] * 10.0 + frame["sex"])
    grown = DecisionTreeRegressor(random_state=0).fit(told[INPUTS], told["pay"])
    data = told[[*INPUTS, "pay"]]
    fixed = tw.repair(grown, data, sensitive="pay", policy=pack(k_anonymity=40), **quick)
    assert fixed.result.passed
    assert fixed.estimator.get_n_leaves() < grown.get_n_leaves()


def test_where_pruning_is_not_all_settings_that_pass_are_found(noise, quick):
    grown = DecisionTreeClassifier(max_depth=3).fit(noise[["a", "b", "c"]], noise["y"])
    policy = pack(k_anonymity=5, disclosure=0.62)
    fixed = tw.repair(grown, noise, sensitive="y", policy=policy, **quick)
    assert fixed.suggestion
    assert fixed.suggestion["random_state"] == 0  # it was none: the same comes out every time
    assert fixed.estimator_result.passed
    named = fixed.attempts[fixed.attempts["title"] == "trained again"]
    assert list(named["verdict"])[-1] == "PASS"
    assert "PASS" not in list(named["verdict"])[:-1]
    assert named["utility"].dropna().is_monotonic_decreasing
    again = DecisionTreeClassifier(max_depth=3).set_params(**fixed.suggestion)
    again.fit(noise[["a", "b", "c"]], noise["y"])
    assert tw.audit(again, noise, sensitive="y", policy=policy, **quick).passed
    if fixed.result.passed and fixed.attempts["is_applied"].any():
        return
    published = tw.audit(fixed.model_bytes, noise, sensitive="y", policy=policy, **quick)
    assert published.passed


def test_no_settings_are_looked_for_in_no_time(noise, quick):
    grown = DecisionTreeClassifier(max_depth=3).fit(noise[["a", "b", "c"]], noise["y"])
    policy = pack(k_anonymity=5, disclosure=0.62)
    fixed = tw.repair(grown, noise, sensitive="y", policy=policy, regrow_seconds=0, **quick)
    assert fixed.suggestion is None
    assert not (fixed.attempts["title"] == "trained again").any()


def test_nothing_is_offered_where_the_data_are_not_what_it_was_fitted_on(tree, frame, quick):
    others = frame.assign(age=frame["age"] + 100)
    asked = {"sensitive": "ill", "policy": pack(k_anonymity=1000), **quick}
    with pytest.raises(tw.TableError):
        tw.repair(tree, others, **asked)


def test_the_estimator_inside_a_search_is_the_one_that_comes_back(frame, quick):
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [3]}, cv=2)
    search.fit(frame[INPUTS], frame["ill"])
    fixed = tw.repair(
        search.best_estimator_, frame, sensitive="ill", policy=pack(k_anonymity=20), **quick
    )
    assert isinstance(fixed.estimator, DecisionTreeClassifier)


def test_a_pipeline_keeps_its_steps_when_its_tree_is_cut_back(tree, frame):
    pipeline = make_pipeline("passthrough", tree)
    whole = open_fitted(tree, target="ill", names=INPUTS).model
    left = _cut_at_random(whole, np.random.default_rng(3))
    found = pruned_copy(pipeline, left)
    assert list(found.predict(frame[INPUTS])) == said_by(left, frame)
    assert pipeline[-1].get_n_leaves() == 5


def test_a_fitted_pipeline_is_repaired_over_the_columns_that_go_into_it(quick):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.integers(18, 60, 200), "job": random.choice([*"abc"], 200)})
    target = pd.Series(random.choice(["no", "yes"], 200), name="ill")
    prepared = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    pipeline = make_pipeline(prepared, tree).fit(frame, target)
    asked = {"policy": pack(k_anonymity=10), **quick}
    fixed = tw.repair(pipeline, (frame, target), **asked)
    assert fixed.result.passed
    assert fixed.estimator[-1].get_n_leaves() < pipeline[-1].get_n_leaves()
    assert tw.audit(fixed.estimator, (frame, target), **asked).passed


def test_a_forest_is_grown_anew_as_its_trees_cannot_be_cut_back_one_by_one(noise, quick):
    inputs = noise[["a", "b", "c"]]
    forest = RandomForestClassifier(3, max_depth=3, bootstrap=False, random_state=0)
    forest.fit(inputs, noise["y"])
    asked = {"policy": pack(k_anonymity=10), **quick}
    fixed = tw.repair(forest, (inputs, noise["y"]), **asked)
    assert fixed.suggestion
    assert "the model passes too" in fixed.message
    assert tw.audit(fixed.estimator, (inputs, noise["y"]), **asked).passed


def test_what_passes_is_handed_back_and_no_file_is_made_of_it(tree, frame, quick, tmp_path):
    fixed = tw.repair(tree, frame, sensitive="ill", policy=pack(k_anonymity=5), **quick)
    assert not fixed.is_needed
    assert fixed.estimator is tree
    assert fixed.model_bytes is None
    assert fixed.attempts.empty
    with pytest.raises(tw.RemedyError, match="no model to write: The tree passes as it is"):
        fixed.save_model(tmp_path / "tree.pmml")


def test_what_nothing_mends_raises_the_verdict_and_names_the_nearest(tree, frame, quick):
    fixed = tw.repair(tree, frame, sensitive="ill", policy=pack(k_anonymity=1000), **quick)
    assert not fixed.is_found
    assert fixed.estimator is None
    with pytest.raises(tw.FailedError):
        fixed.raise_for_verdict()


def test_another_change_can_be_chosen_if_it_passes(files):
    asked = {"sensitive": "flu", "policy": files.policy("harsh"), "jobs": 1, "every": True}
    fixed = tw.repair(files.model, files.table, **asked)
    passing = fixed.attempts[fixed.attempts["verdict"] == "PASS"]["name"]
    other = tw.repair(files.model, files.table, apply=passing.iloc[-1], **asked)
    assert other.attempts.set_index("name").loc[passing.iloc[-1], "is_applied"]
    with pytest.raises(tw.ArgumentError, match="no change is called 'nope'; use "):
        tw.repair(files.model, files.table, apply="nope", **asked)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"to": "onnx"}, "to: unknown format 'onnx'; use one of pmml, treewarden_json"),
        ({"bands": [1]}, "bands: .*whole numbers of 2 or more"),
        ({"holdout": 5}, "int is not a table"),
        ({"taxonomies": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_wrong_arguments_are_refused_before_any_audit(changed, message, tree, frame, quick):
    with pytest.raises(tw.TreewardenError, match=message):
        tw.repair(tree, frame, sensitive="ill", **quick, **changed)


def test_reports_and_cards_of_a_repair(tree, frame, quick, tmp_path):
    fixed = tw.repair(
        tree, frame, sensitive="ill", policy=pack(k_anonymity=20), holdout=frame, **quick
    )
    assert fixed.save(tmp_path / "repair.html").read_bytes().startswith(b"<!")
    card = fixed._repr_html_()
    assert card.index("PASS") < card.index("prune")
    assert "<script" not in card
    assert repr(fixed).startswith(
        "<Repair of DecisionTreeClassifier: This change passes (prune_apt): "
    )
