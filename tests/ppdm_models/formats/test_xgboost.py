"""XGBoost files say the same to us as to XGBoost: the same leaves, the same scores, the same people."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.ppdm_models.formats.boosted import changed, columns_of, essence, leaf_numbers, records
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats.xgboost._ubjson import read_ubjson, written_ubjson
from treewarden.ppdm_models.formats.xgboost.xgboost_dump import FORMAT as DUMP
from treewarden.ppdm_models.formats.xgboost.xgboost_model import FORMAT as MODEL
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.ensemble import Combination, Link, first_members
from treewarden.ppdm_models.tree.predicate import MissingTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Task

xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost itself")

SETTINGS = {
    "squared": {"objective": "reg:squarederror"},
    "logistic": {"objective": "binary:logistic"},
    "logistic_of_0.3": {"objective": "binary:logistic", "base_score": 0.3},
    "softprob": {"objective": "multi:softprob", "num_class": 3},
    "poisson": {"objective": "count:poisson"},
    "gamma": {"objective": "reg:gamma"},
    "absolute": {"objective": "reg:absoluteerror"},
    "raw": {"objective": "binary:logitraw"},
    "dart": {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5, "one_drop": 1},
    "forest": {"objective": "binary:logistic", "num_parallel_tree": 3, "subsample": 0.6},
    "exact_pruned": {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 2.0},
}


def table_of(rows=800):
    draw = np.random.default_rng(3)
    table = draw.normal(size=(rows, 3)).astype(np.float32)
    table[draw.random(table.shape) < 0.15] = np.nan
    score = np.nan_to_num(table[:, 0]) + np.where(np.isnan(table[:, 1]), 1, table[:, 1] > 0)
    return table, score + draw.normal(0, 0.3, rows)


def labels_of(score, settings):
    kind = settings["objective"].split(":")[0]
    if kind == "multi":
        return np.digitize(score, [0, 1.5])
    if kind == "binary":
        return score > 1
    return (
        np.abs(score).round() + 1
        if settings["objective"] in ("count:poisson", "reg:gamma")
        else score
    )


def booster_of(settings, rounds=4, **options):
    table, score = table_of()
    data = xgboost.DMatrix(table, label=np.asarray(labels_of(score, settings), float))
    return xgboost.train({"nthread": 1, "max_depth": 4, **settings, **options}, data, rounds)


def saved(booster, layout="json"):
    return bytes(booster.save_raw(layout))


def dumped(booster):
    trees = booster.get_dump(with_stats=True, dump_format="json")
    return f"[{','.join(trees)}]".encode()


@pytest.mark.parametrize("name", SETTINGS)
def test_records_come_to_the_leaves_that_xgboost_sends_them_to(name):
    booster = booster_of(SETTINGS[name])
    model = MODEL.open(saved(booster), "m.json").model
    table = records(model, np.float32, np.random.default_rng(0))
    theirs = booster.predict(xgboost.DMatrix(table), pred_leaf=True).reshape(len(table), -1)
    assert (leaf_numbers(model, columns_of(model, table)) == theirs).all()
    dump = DUMP.open(dumped(booster), "d.json").model
    columns = {
        f"f{index}": column for index, column in enumerate(columns_of(model, table).values())
    }
    assert (leaf_numbers(dump, columns) == theirs).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_scores_are_those_of_xgboost(name):
    booster = booster_of(SETTINGS[name])
    model = MODEL.open(saved(booster), "m.json").model
    table = records(model, np.float32, np.random.default_rng(1))
    theirs = booster.predict(xgboost.DMatrix(table)).reshape(len(table), -1)
    ours = predict(model, columns_of(model, table))[:, -theirs.shape[1] :]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at_once", [1, 10])
def test_sets_of_categories_are_followed_as_xgboost_does(at_once):
    draw = np.random.default_rng(5)
    table = np.column_stack([draw.integers(0, 8, 600), draw.normal(size=600)]).astype(np.float32)
    table[draw.random(table.shape) < 0.1] = np.nan
    label = np.isin(table[:, 0], [1, 4, 6]) * 2 + np.nan_to_num(table[:, 1])
    options = {"feature_types": ["c", "float"], "enable_categorical": True}
    data = xgboost.DMatrix(table, label=label, **options)
    booster = xgboost.train({"nthread": 1, "max_cat_to_onehot": at_once}, data, 4)
    for form, raw in ((MODEL, saved(booster)), (DUMP, dumped(booster))):
        model = form.open(raw, "m.json").model
        found = leaf_numbers(model, columns_of(model, table))
        assert (found == booster.predict(data, pred_leaf=True)).all()


def test_names_of_categories_come_from_the_container():
    pandas = pytest.importorskip("pandas", reason="the container is written for data frames")
    frame = pandas.DataFrame(
        {"town": pandas.Categorical(list("NSW") * 40), "zone": pandas.Categorical([7, 9] * 60)}
    )
    data = xgboost.DMatrix(frame, label=np.arange(120.0), enable_categorical=True)
    raw = saved(xgboost.train({"nthread": 1}, data, 1))
    assert [f.values for f in MODEL.open(raw, "m.json").model.features] == [
        ("N", "S", "W"),
        ("7", "9"),
    ]
    assert {leak.kind for leak in MODEL.open(raw, "m.json").leaks} == {LeakKind.CATEGORIES}


def test_vectors_at_leaves_are_read_and_predicted():
    table, score = table_of()
    data = xgboost.DMatrix(table, label=np.column_stack([score, -2 * score]))
    settings = {"nthread": 1, "multi_strategy": "multi_output_tree", "tree_method": "hist"}
    booster = xgboost.train(settings, data, 3)
    model = MODEL.open(saved(booster), "m.json").model
    ours = predict(model, columns_of(model, table))
    np.testing.assert_allclose(ours, booster.predict(data), rtol=1e-5, atol=1e-5)
    assert {tree.quality for tree in model.trees} == {Quality.DERIVED}
    assert next(model.trees).root.records == len(table)


@pytest.mark.parametrize(
    ("name", "qualities"),
    [
        ("squared", [Quality.DERIVED] * 4),
        ("absolute", [Quality.DERIVED] * 4),
        ("logistic", [Quality.DERIVED] + [Quality.HESSIAN] * 3),
        ("logistic_of_0.3", [Quality.DERIVED] + [Quality.HESSIAN] * 3),
        ("softprob", [Quality.DERIVED] * 3 + [Quality.HESSIAN] * 9),
        ("forest", [Quality.DERIVED] * 3 + [Quality.HESSIAN] * 9),
        ("poisson", [Quality.HESSIAN] * 4),
    ],
)
def test_people_are_read_from_second_derivatives_only_where_that_is_sure(name, qualities):
    model = MODEL.open(saved(booster_of(SETTINGS[name])), "m.json").model
    assert [tree.quality for tree in model.trees] == qualities


@pytest.mark.parametrize("name", ["squared", "logistic", "softprob"])
def test_derived_counts_are_the_records_that_reached_each_leaf(name):
    table, _ = table_of()
    model = MODEL.open(saved(booster_of(SETTINGS[name])), "m.json").model
    numbers = leaf_numbers(model, columns_of(model, table))
    for position, tree in enumerate(model.trees):
        if tree.quality is Quality.DERIVED:
            counts = {int(leaf.name): leaf.records for leaf in tree.leaves}
            found = np.unique(numbers[:, position], return_counts=True)
            assert dict(zip(*(part.tolist() for part in found), strict=True)) == counts


def test_fractional_weights_are_no_people():
    table, score = table_of()
    weights = np.random.default_rng(0).random(len(score))
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(table, score, weight=weights), 1)
    assert next(MODEL.open(saved(booster), "m.json").model.trees).quality is Quality.WEIGHTED


def test_samples_of_different_size_show():
    settings = {"objective": "reg:squarederror", "subsample": 0.5, "num_parallel_tree": 4}
    assert MODEL.open(saved(booster_of(settings)), "m.json").model.sampling.resampled is True
    assert (
        MODEL.open(saved(booster_of(SETTINGS["squared"])), "m.json").model.sampling.resampled
        is None
    )


def test_a_dump_with_whole_covers_is_still_no_count_of_people():
    model = DUMP.open(dumped(booster_of(SETTINGS["squared"])), "d.json").model
    assert {tree.quality for tree in model.trees} == {Quality.HESSIAN}
    assert any(
        "the file probably shows how many people reached each node" in note for note in model.notes
    )
    assert model.link is Link.UNKNOWN


def test_a_booster_of_one_tree_is_an_ensemble_with_its_base():
    model = MODEL.open(saved(booster_of(SETTINGS["logistic_of_0.3"], rounds=1)), "m.json").model
    assert len(model.members) == 1
    assert model.base == pytest.approx((np.log(0.3 / 0.7),))
    assert (model.task, model.classes) == (Task.CLASSIFICATION, ("0", "1"))


def test_dart_weighs_its_trees():
    model = MODEL.open(saved(booster_of(SETTINGS["dart"])), "m.json").model
    assert model.combination is Combination.WEIGHTED_SUM
    assert len({member.weight for member in model.members}) > 1


def test_older_layouts_are_read():
    document = json.loads(saved(booster_of(SETTINGS["logistic"])))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    for tree in trees:
        tree["default_left"] = [bool(side) for side in tree["default_left"]]
    del document["learner"]["gradient_booster"]["model"]["iteration_indptr"]
    new = MODEL.open(json.dumps(document).encode(), "m.json").model
    document["learner"]["learner_model_param"]["base_score"] = "5E-1"
    old = MODEL.open(json.dumps(document).encode(), "m.json").model
    assert essence(new)[1:] == essence(old)[1:]
    assert old.base == (0.0,)


def test_the_raw_scores_of_an_old_version_are_not_guessed():
    document = json.loads(saved(booster_of(SETTINGS["raw"])))
    document["version"] = [1, 7, 6]
    assert MODEL.open(json.dumps(document).encode(), "m.json").model.link is Link.UNKNOWN


def test_indicators_ask_whether_the_value_is_there(tmp_path):
    names = tmp_path / "map.txt"
    names.write_text("0 a i\n1 b i\n2 c i\n")
    table = np.where(np.random.default_rng(0).random((200, 3)) < 0.5, 1.0, np.nan)
    label = np.isnan(table[:, 0]) * 2.0 + np.isnan(table[:, 1])
    data = xgboost.DMatrix(table, label=label)
    booster = xgboost.train({"nthread": 1, "max_depth": 2}, data, 1)
    raw = f"[{booster.get_dump(str(names), dump_format='json')[0]}]".encode()
    model = DUMP.open(raw, "d.json").model
    assert isinstance(next(model.trees).nodes[1].test, MissingTest)
    columns = columns_of(model, table[:, :2])
    assert (
        leaf_numbers(model, columns) == booster.predict(data, pred_leaf=True).reshape(-1, 1)
    ).all()


@pytest.mark.parametrize("layout", ["json", "ubj"])
@pytest.mark.parametrize("name", ["squared", "logistic", "softprob", "dart", "exact_pruned"])
def test_a_changed_model_loads_in_xgboost_and_predicts_what_we_say(name, layout):
    raw = saved(booster_of(SETTINGS[name]), layout)
    after = changed(MODEL.open(raw, "m").model)
    written = MODEL.open(raw, "m").rewrite(after)
    assert essence(MODEL.open(written, "m").model) == essence(after)
    table, _ = table_of()
    theirs = xgboost.Booster(model_file=bytearray(written)).predict(xgboost.DMatrix(table))
    ours = predict(after, columns_of(after, table))
    theirs = theirs.reshape(len(table), -1)
    np.testing.assert_allclose(ours[:, -theirs.shape[1] :], theirs, rtol=1e-5, atol=1e-5)


def test_pruning_keeps_the_categories_of_the_other_nodes():
    draw = np.random.default_rng(5)
    table = np.column_stack([draw.integers(0, 9, 600), draw.integers(0, 9, 600)]).astype(float)
    options = {"feature_types": ["c", "c"], "enable_categorical": True}
    label = np.isin(table[:, 0], [1, 4, 6]) * 2 + np.isin(table[:, 1], [0, 8])
    data = xgboost.DMatrix(table, label=label, **options)
    raw = saved(xgboost.train({"nthread": 1, "max_cat_to_onehot": 1, "max_depth": 3}, data, 4))
    after = changed(MODEL.open(raw, "m").model)
    written = MODEL.open(raw, "m").rewrite(after)
    theirs = xgboost.Booster(model_file=bytearray(written)).predict(data)
    np.testing.assert_allclose(predict(after, columns_of(after, table))[:, 0], theirs, atol=1e-5)


def test_a_changed_dump_says_what_was_changed_and_nothing_else():
    raw = dumped(booster_of(SETTINGS["squared"]))
    model = DUMP.open(raw, "d.json").model
    after = changed(model)
    assert essence(DUMP.open(DUMP.open(raw, "d.json").rewrite(after), "d.json").model) == essence(
        after
    )
    assert json.loads(DUMP.open(raw, "d.json").rewrite(model)) == json.loads(raw)


@pytest.mark.parametrize("layout", ["json", "ubj"])
def test_an_unchanged_model_is_the_same_document(layout):
    raw = saved(booster_of(SETTINGS["softprob"]), layout)
    again = MODEL.open(raw, "m").rewrite(MODEL.open(raw, "m").model)
    assert (again == raw) if layout == "ubj" else (json.loads(again) == json.loads(raw))


def test_only_the_last_trees_can_be_taken_away():
    raw = saved(booster_of(SETTINGS["squared"]))
    model = MODEL.open(raw, "m").model
    short = MODEL.open(MODEL.open(raw, "m").rewrite(first_members(model, 2)), "m").model
    assert short == first_members(model, 2)
    for others in (model.members[1:], (*model.members, model.members[-1])):
        with pytest.raises(OutputError, match="number of trees changed"):
            MODEL.open(raw, "m").rewrite(replace(model, members=others))


def test_attributes_that_tell_of_people_and_places_are_found_and_removed():
    booster = booster_of(SETTINGS["squared"])
    booster.set_attr(author="jane", train="/home/jane/patients.csv", best_iteration="3")
    raw = saved(booster)
    found = {leak.where: leak.kind for leak in MODEL.open(raw, "m").leaks}
    assert found == {
        "/learner/attributes/author": LeakKind.AUTHOR,
        "/learner/attributes/train": LeakKind.PATH,
    }
    clean = MODEL.open(raw, "m").without(frozenset({LeakKind.PATH, LeakKind.AUTHOR}))
    assert xgboost.Booster(model_file=bytearray(clean)).attributes() == {"best_iteration": "3"}
    assert MODEL.open(clean, "m").leaks == ()


def test_a_snapshot_with_its_configuration_lets_training_be_replayed():
    booster = booster_of(SETTINGS["squared"])
    snapshot = {"Config": json.loads(booster.save_config()), "Model": json.loads(saved(booster))}
    raw = json.dumps(snapshot).encode()
    assert MODEL.sniff(raw)
    assert len(MODEL.open(raw, "m").model.members) == 4
    assert LeakKind.REPLAY in {leak.kind for leak in MODEL.open(raw, "m").leaks}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{L" + b"\xff" * 8 + b"learner" * 4, "invalid length"),
        (b"{" + (b"L" + bytes(7) + b"\x01a{") * 5000, "nests too deep"),
        (b"{L" + bytes(7) + b"\x01a[$d#L\x00\x00\x00\x00\xff\xff\xff\xff", "invalid length"),
        (b"{L" + bytes(7) + b"\x01aZL" + bytes(7) + b"\x01aZ}", "occurs twice"),
        (b"{L" + bytes(7) + b"\x01aH", "the unknown type 'H'"),
        (b"{L" + bytes(7) + b"\x01aZ}Z", "there are bytes after the end"),
    ],
)
def test_hostile_ubjson_is_refused(data, problem):
    with pytest.raises(TreeFormatError, match=problem):
        read_ubjson(data, "m.ubj")


def test_ubjson_is_written_as_it_was():
    raw = saved(booster_of(SETTINGS["dart"]), "ubj")
    assert written_ubjson(read_ubjson(raw, "m.ubj")) == raw
