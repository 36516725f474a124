"""What a LightGBM text file holds that nobody reads is found, wherever it stands, and taken out where it can be."""

import json
import re

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.places import DATA
from tests.kit.rows import rows
from tests.ppdm_models.formats.boosted import changed, essence
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.lightgbm._arrays import is_bare
from treewarden.ppdm_models.formats.lightgbm._lines import lines_of
from treewarden.ppdm_models.formats.lightgbm.lightgbm_text import FORMAT
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree

FORMATS = DATA / "formats"
TEXT = (FOLDER / "lightgbm_two.txt").read_text()


def unknown(text):
    leaks = open_model(text.encode(), "m.txt").leaks
    return [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN]


@pytest.mark.parametrize("name", ["two", "three", "eight", "ranking"])
def test_nothing_is_strange_in_what_the_library_wrote(name):
    assert FORMAT.accounts_for_all
    assert not unknown((FOLDER / f"lightgbm_{name}.txt").read_text())
    assert not unknown((FOLDER / f"lightgbm_{name}.txt").read_text().replace("\n", "\r\n"))


def announced(text):
    """The text with the sizes of its trees as they are, without which the library does not read it."""
    return lines_of(text.encode(), "m.txt").written().decode()


@pytest.mark.parametrize("places", ["63,1,145", "5,3", "1,1", "1,,3", "1,3,5,7.5", "01", "99"])
def test_places_of_a_ranking_that_nobody_asks_for_are_told(places):
    text = (FOLDER / "lightgbm_ranking.txt").read_text()
    assert not unknown(text.replace("[eval_at: 1,3,5]", "[eval_at: 5,10,100]"))
    assert unknown(text.replace("[eval_at: 1,3,5]", f"[eval_at: {places}]"))
    assert unknown(TEXT.replace("[eval_at: ]", "[eval_at: 1,3,5]"))


STRANGE = {
    "a line in the header": ("version=v4\n", "version=v4\nnote: ann has it\n"),
    "a key in the header": ("version=v4\n", "version=v4\nnote=ann has it\n"),
    "a version": ("version=v4\n", "version=ann has it\n"),
    "an objective": ("objective=binary sigmoid:1\n", "objective=binary sigmoid:1 ann\n"),
    "a key in a tree": ("\nis_linear=0", "\nann=1\nis_linear=0"),
    "a text in a tree": ("\nis_linear=0", "\nis_linear=0 ann"),
    "a bare line in a tree": ("\nis_linear=0", "\nann has it\nis_linear=0"),
    "more numbers than nodes": ("internal_weight=", "internal_weight=7 7 "),
    "categories nobody asks for": ("\nis_linear=0", "\ncat_threshold=4 5\nis_linear=0"),
    "a line after the trees": ("end of trees\n", "end of trees\nann has it\n"),
    "an importance": ("feature_importances:\n", "feature_importances:\nann=1\n"),
    "a setting": ("[max_bin: 255]", "[max_bin: 255]\n[ann: 1]"),
    "a text in a setting": ("[max_bin: 255]", "[max_bin: ann has it]"),
    "a text behind a setting": ("[max_bin: 255]", "[max_bin: 255] ann has it"),
    "a setting twice": ("[max_bin: 255]", "[max_bin: 77]\n[max_bin: 255]"),
    "a column": ("[label_column: ]", "[label_column: name:ann]"),
}


@rows("case", STRANGE)
def test_what_no_reader_knows_is_told(case):
    before, after = STRANGE[case]
    assert before in TEXT
    text = announced(TEXT.replace(before, after, 1))
    (leak,) = set(unknown(text)) if case != "a setting twice" else unknown(text)
    line = text.split("\n")[int(leak.where.removeprefix("line ")) - 1]
    assert line not in TEXT.split("\n")
    assert not line.startswith("tree_sizes=")


@pytest.mark.parametrize(
    "case", ["a line in the header", "a key in a tree", "a setting", "a text behind a setting"]
)
def test_a_strange_line_can_be_taken_out(case):
    file = open_model(announced(TEXT.replace(*STRANGE[case], 1)).encode(), "m.txt")
    bare = file.opened.without(frozenset({LeakKind.UNKNOWN})).decode()
    assert not unknown(bare)
    assert "ann" not in bare
    again = open_model(bare.encode(), "m.txt")
    assert [tree.nodes for tree in again.model.trees] == [tree.nodes for tree in file.model.trees]


def test_names_of_features_are_no_strange_settings():
    text = TEXT.replace("[ignore_column: ]", "[ignore_column: name:age,visits]")
    assert not unknown(text)


ROW = "63 1 145 233 1"
TELLING = {
    "names behind the objective": (r"^objective=.*", r"\g<0> anna:1 bert:0"),
    "an option twice": (r"^objective=.*", r"\g<0> sigmoid:63"),
    "an option of another objective": (r"^objective=.*", r"\g<0> alpha:63"),
    "constraints that are a record": (
        r"^feature_names",
        f"monotone_constraints={ROW}\nfeature_names",
    ),
    "more trees than there are": (r"^tree_sizes=.*", rf"\g<0> {ROW}"),
    "other sizes than the trees have": (r"^tree_sizes=\d+", "tree_sizes=63"),
    "a list as the label": (r"^label_index=.*", "label_index=0 1 1 0"),
    "a number of no column": (r"^label_index=.*", "label_index=631145"),
    "words that are numbers": (r"^label_index=.*", "label_index=nan inf 1 0"),
    "classes": (r"^num_class=.*", "num_class=63"),
    "a last feature": (r"^max_feature_idx=.*", "max_feature_idx=63"),
    "values of no feature": (r"^feature_infos=.*", r"\g<0> 63:1:145:233"),
    "extremes of no feature": (r"^feature_infos=.*", r"\g<0> [63:145]"),
    "a feature too many": (r"^feature_names=.*", r"\g<0> anna_is_ill"),
    "coefficients": (r"^shrinkage", f"leaf_coeff={ROW}\nshrinkage"),
    "features of leaves": (r"^shrinkage", f"leaf_features={ROW}\nshrinkage"),
    "constants": (r"^leaf_value=(.*)", r"leaf_value=\1\nleaf_const=\1"),
    "numbers of features": (r"^shrinkage", f"num_features={ROW}\nshrinkage"),
    "a list as the shrinkage": (r"^shrinkage=.*", "shrinkage=0.1,63,1,145"),
    "a list behind is_linear": (r"^is_linear=.*", "is_linear=0,63,1,145"),
    "a list behind num_cat": (r"^num_cat=.*", "num_cat=0,63,1"),
    "sets that nobody asks for": (r"^num_cat=.*", "num_cat=63"),
    "a long number": (r"^shrinkage=.*", "shrinkage=0.1" + "63114523310" * 3),
    "a record as an importance": (r"^feature_importances:$", rf"\g<0>\nage={ROW}"),
    "an importance twice": (r"^feature_importances:$", r"\g<0>\nage=63"),
    "gains of labels": (r"^\[label_gain: .*", "[label_gain: 0,1,1,0,0,1]"),
    "positions": (r"^\[eval_at: .*", "[eval_at: 63,1,145]"),
    "weights of classes": (r"^\[auc_mu_weights: .*", "[auc_mu_weights: 63,1,145]"),
    "a list in a setting of one": (r"^\[max_bin: .*", "[max_bin: 255 63 1]"),
    "columns by number": (r"^\[ignore_column: .*", "[ignore_column: 63,1,145]"),
    "a column many times": (r"^\[ignore_column: .*", "[ignore_column: name:age,age,visits]"),
    "categories of no feature": (r"^\[categorical_feature: .*", "[categorical_feature: 63,145]"),
    "a metric many times": (r"^\[metric: .*", "[metric: auc,l2,auc,auc]"),
    "constraints in a setting": (r"^\[monotone_constraints: .*", "[monotone_constraints: 63,1]"),
    "interactions": (r"^\[interaction_constraints: .*", "[interaction_constraints: [63,1],[2]]"),
    "bins": (r"^\[max_bin_by_feature: .*", "[max_bin_by_feature: 63,145]"),
    "the end twice": (r"^end of parameters", r"\g<0>\n\g<0>"),
}


@rows("case", TELLING)
def test_what_stands_in_known_places_in_another_shape_is_told(case):
    pattern, strange = TELLING[case]
    text, changes = re.subn(f"(?m){pattern}", strange, TEXT, count=1)
    assert changes == 1
    assert unknown(text if case.endswith("have") or case.startswith("more") else announced(text))


def test_codes_of_categories_are_told():
    text = re.sub(r"(?m)^(feature_infos=)\S+", r"\1-1:10115:10117", TEXT)
    leaks = open_model(text.encode(), "m.txt").leaks
    assert [leak.where for leak in leaks if leak.kind is LeakKind.CATEGORIES] == ["line 9"]
    assert not unknown(text)


WRITTEN = {
    "categories": ({"objective": "binary", "min_data_per_group": 5}, {"categorical_feature": [0]}),
    "three classes": ({"objective": "multiclass", "num_class": 3, "metric": "auc_mu"}, {}),
    "one class each": ({"objective": "multiclassova", "num_class": 3}, {}),
    "ranks": ({"objective": "lambdarank"}, {"group": [30] * 10}),
    "dart": ({"objective": "binary", "boosting": "dart"}, {}),
    "forest": ({"objective": "binary", "boosting": "rf", "bagging_freq": 1, "subsample": 0.6}, {}),
    "lines": ({"objective": "regression", "linear_tree": True}, {}),
    "constraints": ({"objective": "regression", "monotone_constraints": [0, 1, -1]}, {}),
    "roots": ({"objective": "regression", "reg_sqrt": True}, {}),
    "no split": ({"objective": "regression", "min_data_in_leaf": 290}, {}),
    "tweedie": ({"objective": "tweedie", "tweedie_variance_power": 1.2}, {}),
    "huber": ({"objective": "huber", "alpha": 1.3, "metric": "l1,l2"}, {}),
}


@pytest.mark.parametrize("case", WRITTEN)
@pytest.mark.parametrize("importance", ["split", "gain"])
def test_nothing_is_strange_in_what_the_library_writes_now(case, importance):
    lightgbm = pytest.importorskip("lightgbm", reason="the files are made by LightGBM itself")
    settings, options = WRITTEN[case]
    draw = np.random.default_rng(5)
    table = np.c_[draw.integers(0, 9, 300), draw.normal(size=(300, 2))]
    label = draw.integers(0, 2 if settings["objective"] == "binary" else 3, 300)
    quiet = {"verbose": -1, "num_threads": 1, "num_leaves": 5, "min_data_in_leaf": 8}
    booster = lightgbm.train(
        {**quiet, **settings}, lightgbm.Dataset(table, label=label, **options), 4
    )
    assert not unknown(booster.model_to_string(importance_type=importance))


def test_sets_of_categories_go_with_the_splits_that_ask_for_them():
    lightgbm = pytest.importorskip("lightgbm", reason="the file is made by LightGBM itself")
    draw = np.random.default_rng(5)
    table, label = draw.integers(0, 40, (600, 2)), draw.normal(size=600)
    settings = {"objective": "regression", "verbose": -1, "num_threads": 1, "num_leaves": 9}
    data = lightgbm.Dataset(table, label=label + table[:, 0] % 3, categorical_feature=[0, 1])
    text = lightgbm.train({**settings, "min_data_per_group": 5}, data, 4).model_to_string()
    after = changed(FORMAT.open(text.encode(), "m").model)
    written = FORMAT.open(text.encode(), "m").rewrite(after).decode()
    assert written.count("cat_threshold") == text.count("cat_threshold") > 0
    sets = [re.findall(r"(?m)^num_cat=(\d+)", said) for said in (text, written)]
    assert sum(map(int, sets[0])) > sum(map(int, sets[1]))
    assert not unknown(written)
    assert essence(FORMAT.open(written.encode(), "m").model) == essence(after)
    booster = lightgbm.Booster(model_str=written)
    leaves = [int(count) for count in re.findall(r"(?m)^num_leaves=(\d+)", written)]
    assert (booster.predict(table, pred_leaf=True).max(axis=0) < leaves).all()


@pytest.mark.parametrize("setting", ["data", "valid", "forcedsplits_filename"])
def test_a_setting_for_files_names_files_and_no_sentence(setting):
    line = next(line for line in TEXT.split("\n") if line.startswith(f"[{setting}: "))
    for place in ("/home/jo/train.csv", "train.csv", "C:\\data\\train.csv", "a/b.txt,a/c.txt"):
        assert not unknown(TEXT.replace(line, f"[{setting}: {place}]"))
    for sentence in ("ann has it", "ann, 44, has it", "/home/ann has it.csv"):
        text = TEXT.replace(line, f"[{setting}: {sentence}]")
        assert [leak.removable for leak in unknown(text)] == [True]
        bare = FORMAT.open(text.encode(), "m.txt").without(frozenset(LeakKind))
        assert not unknown(bare.decode())
        assert b"ann" not in bare


def test_a_number_of_outputs_that_is_none_is_refused():
    assert "num_tree_per_iteration=1\n" in TEXT
    for said in ("one", "-1", "100000000000"):
        text = TEXT.replace("num_tree_per_iteration=1\n", f"num_tree_per_iteration={said}\n")
        with pytest.raises(TreeFormatError):
            open_model(text.encode(), "m.txt")


def test_a_tree_is_bare_that_lost_the_numbers_of_its_inner_nodes_and_tells_no_records():
    def tree(score, records=None, leaf_records=None):
        return Tree(
            (
                Node(0, "split 0", None, (1, 2), score=score, records=records),
                Node(1, "leaf 0", 0, (), NumericTest("age", high=5.0), 1.0, leaf_records),
                Node(2, "leaf 1", 0, (), NumericTest("age", 5.0, low_closed=True), 2.0),
            ),
            (Feature("age", True),),
            "flu",
            task=Task.REGRESSION,
        )

    assert is_bare(tree(1.5), tree(None))
    assert not is_bare(tree(1.5), tree(1.5))
    assert not is_bare(tree(1.5), tree(None, leaf_records=3.0))
    assert not is_bare(tree(None), tree(None))


def test_a_column_of_a_dump_without_extremes_gives_none_away():
    dump = json.loads((FORMATS / "lightgbm_dump" / "good" / "loan.json").read_text())
    for info, told in (({}, 0), ({"values": [1, 2]}, 0), ({"min_value": 1, "max_value": 2}, 1)):
        dump["feature_infos"] = {"age": info}
        leaks = open_model(json.dumps(dump).encode(), "m.json").leaks
        assert [leak.kind for leak in leaks].count(LeakKind.EXTREMES) == told
