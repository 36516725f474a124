"""``treewarden repair`` of ensembles: what is written passes, loads in its own tool, and is otherwise the original."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from tests.kit import places
from tests.kit.forests import by_sex, forest, stump
from tests.kit.run import run_command
from tests.kit.tiers import cases
from tests.treewarden.conftest import CLAUSE
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.formats.xgboost._ubjson import read_ubjson
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination
from treewarden.reports.document.packing import unpack

NAMES = ["age", "hours", "town"]
LEAST = 12
SHRUNK = places.DATA / "shrunk"
XGBOOST = {
    "binary": {"objective": "binary:logistic"},
    "squared": {"objective": "reg:squarederror"},
    "absolute": {"objective": "reg:absoluteerror"},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "dart": {"objective": "binary:logistic", "booster": "dart", "rate_drop": 0.5, "one_drop": 1},
}
LIGHTGBM = {
    "binary": {"objective": "binary"},
    "squared": {"objective": "regression", "lambda_l2": 3.0},
    "absolute": {"objective": "regression_l1"},
    "classes": {"objective": "multiclass", "num_class": 3},
    "dart": {"objective": "regression", "boosting": "dart"},
    "forest": {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
}
LIGHTGBM_HOW = ((4, ["town"]), (1, []), (1, ["town"]), (4, []))
"""Of how many rounds, and with which columns of categories."""


def table_of(rows=260):
    """Return N records of three features, the last a code, some without a value, and a score."""
    draw = np.random.default_rng(11)
    table = np.column_stack(
        [draw.integers(18, 80, rows), draw.integers(0, 60, rows), draw.integers(0, 6, rows)]
    ).astype(float)
    table[draw.random(rows) < 0.1, 1] = np.nan
    score = table[:, 0] / 20 + np.isin(table[:, 2], [1, 4]) * 2 + np.nan_to_num(table[:, 1]) / 30
    return table, score + draw.normal(0, 0.4, rows)


TABLE, SCORE = table_of()
LABELS = {
    "binary": (SCORE > 4).astype(int),
    "dart": (SCORE > 4).astype(int),
    "forest": (SCORE > 4).astype(int),
    "classes": np.digitize(SCORE, [3.5, 5]),
}


def label_of(name):
    return LABELS.get(name, np.round(SCORE, 2))


class Case:
    """A model with the table that it was trained on, in a folder."""

    def __init__(self, folder, file, data, label, rows=TABLE, names=NAMES, target="out"):
        self.folder, self.model, self.fixed = folder, folder / file, folder / f"fixed-{file}"
        self.target = target
        self.model.write_bytes(data)
        self.table = folder / "people.csv"
        with self.table.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines)
            writer.writerow([*names, target])
            for row, said in zip(rows, label, strict=True):
                writer.writerow(["" if np.isnan(x) else f"{x:g}" for x in row] + [said])
        self.policy(LEAST)

    def policy(self, limit, measure="k_anonymity", rule="at_least"):
        said = CLAUSE.format(name="ours", measure=measure, rule=rule, limit=limit)
        (self.folder / "ours.toml").write_text(said, encoding="utf-8")

    def run(self, command, model, *arguments, policy=None):
        told = ["--data", self.table, "--sensitive", self.target, "--policy"]
        asked = [command, model, *told, policy or self.folder / "ours.toml", *arguments]
        return run_command(*asked)

    def repaired(self, *arguments):
        """Repair the model, see that the original is left and that the result passes; return both as bytes."""
        before = self.model.read_bytes()
        outcome = self.run("repair", self.model, "-o", self.fixed, *arguments)
        assert outcome.exit_code == 0, outcome.output
        assert self.model.read_bytes() == before
        assert self.run("audit", self.fixed).exit_code == 0
        return before, self.fixed.read_bytes()


def columns_of(model, table):
    found = {}
    for index, feature in enumerate(model.features):
        values = table[:, index]
        if feature.numeric:
            found[feature.name] = NumericColumn(values)
        else:
            codes = np.where(np.isnan(values), -1, values).astype(int)
            found[feature.name] = CategoricalColumn(
                codes=codes, categories=tuple(map(str, range(6)))
            )
    return found


def others():
    """Return records that nobody was trained on, values missing among them."""
    draw = np.random.default_rng(5)
    table = np.column_stack(
        [draw.uniform(0, 99, 500), draw.uniform(-9, 80, 500), draw.integers(0, 6, 500)]
    )
    table[draw.random(table.shape) < 0.2] = np.nan
    return table.astype(np.float32).astype(np.float64)


def same(ours, theirs):
    theirs = theirs.reshape(len(ours), -1)
    np.testing.assert_allclose(ours[:, -theirs.shape[1] :], theirs, rtol=2e-6, atol=2e-6)


def smallest(leaves):
    """Return the fewest records in a leaf; ``leaves`` are those of each record in each tree, as the tool says."""
    return min(np.unique(column, return_counts=True)[1].min() for column in np.atleast_2d(leaves.T))


def without_trees(document):
    booster = document["learner"]["gradient_booster"]
    booster = booster.get("gbtree", booster)
    return document, booster["model"].pop("trees")


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("name", XGBOOST)
@pytest.mark.parametrize("town", ["float", "c"])
def test_xgboost_loads_its_repaired_model_and_all_but_the_trees_is_equal(
    tmp_path, name, form, rounds, town
):
    xgboost = pytest.importorskip("xgboost", reason="the model is XGBoost's own")
    kinds = {"feature_names": NAMES, "feature_types": ["float", "float", town]}
    kinds["enable_categorical"] = True
    data = xgboost.DMatrix(TABLE, label_of(name), **kinds)
    settings = {"nthread": 1, "max_depth": 5, "min_child_weight": 0, **XGBOOST[name]}
    raw = bytes(xgboost.train(settings, data, rounds).save_raw(form))
    case = Case(tmp_path, f"m.{form}", raw, label_of(name))
    before, after = case.repaired()
    read = json.loads if form == "json" else lambda raw: read_ubjson(raw, "m")
    (rest, trees), (new_rest, new_trees) = (without_trees(read(each)) for each in (before, after))
    assert (new_rest, len(new_trees)) == (rest, len(trees))
    booster = xgboost.Booster(model_file=case.fixed)
    assert smallest(booster.predict(data, pred_leaf=True)) >= LEAST
    model = read_model(case.fixed)
    same(
        predict(model, columns_of(model, others())),
        booster.predict(xgboost.DMatrix(others(), **kinds)),
    )


def blocks_of(text):
    """Return the header without the sizes of the trees, each tree, and what follows."""
    head, *trees = re.split(r"(?=^Tree=\d+\n)", text.decode(), flags=re.MULTILINE)
    last, end = re.split(r"(?=^end of trees)", trees[-1], flags=re.MULTILINE)
    return re.sub(r"tree_sizes=.*", "", head), [*trees[:-1], last], end


@pytest.mark.parametrize(
    ("name", "rounds", "town"),
    cases(
        [(name, rounds, town) for rounds, town in LIGHTGBM_HOW for name in LIGHTGBM],
        quick=len(LIGHTGBM),
    ),
)
def test_lightgbm_loads_its_repaired_model_and_all_but_the_trees_that_change_is_kept(
    tmp_path, name, rounds, town
):
    lightgbm = pytest.importorskip("lightgbm", reason="the model is LightGBM's own")
    data = lightgbm.Dataset(TABLE, label_of(name), feature_name=NAMES, categorical_feature=town)
    settings = {"verbose": -1, "num_threads": 1, "num_leaves": 14, "min_data_in_leaf": 5}
    settings |= {"min_data_per_group": 5, "cat_smooth": 1, **LIGHTGBM[name]}
    raw = lightgbm.train(settings, data, rounds).model_to_string().encode()
    case = Case(tmp_path, "m.txt", raw, label_of(name))
    before, after = map(blocks_of, case.repaired())
    assert (before[0], before[2]) == (after[0], after[2])
    booster = lightgbm.Booster(model_file=case.fixed)
    assert smallest(booster.predict(TABLE, pred_leaf=True)) >= LEAST
    kept = smallest_of_each(lightgbm.Booster(model_file=case.model)) >= LEAST
    assert [old == new for old, new in zip(before[1], after[1], strict=True)] == kept.tolist()
    model = read_model(case.fixed)
    same(predict(model, columns_of(model, others())), booster.predict(others()))


def smallest_of_each(booster):
    leaves = booster.predict(TABLE, pred_leaf=True)
    return np.array([smallest(column[:, None]) for column in leaves.T])


def shrunk(folder, file):
    """Return the small model for squared errors that is kept as a file, with its table."""
    rows = np.loadtxt(SHRUNK / "table.csv", delimiter=",", skiprows=1)
    said = rows[:, :2], NAMES[:2], "target"
    case = Case(folder, file, (SHRUNK / file).read_bytes(), rows[:, 2], *said)
    case.policy(8)
    return case


@pytest.mark.parametrize("file", ["model.ubj", "snapshot.ubj", "lightgbm.txt"])
def test_a_kept_model_is_repaired_without_its_tool(tmp_path, file):
    case = shrunk(tmp_path, file)
    case.repaired()
    leaves = [leaf for tree in read_model(case.fixed).trees for leaf in tree.leaves]
    assert min(leaf.records for leaf in leaves) >= 8


def test_the_cost_of_a_dump_is_not_told_as_it_is_not_evaluated(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="the dump is XGBoost's own")
    data = xgboost.DMatrix(TABLE, label_of("binary"), feature_names=NAMES)
    booster = xgboost.train({"nthread": 1, "min_child_weight": 0}, data, 2)
    raw = "[" + ",".join(booster.get_dump(with_stats=True, dump_format="json")) + "]"
    case = Case(tmp_path, "dump.json", raw.encode(), label_of("binary"))
    case.repaired("--report", str(tmp_path))
    said = case.run("repair", case.model, "--list", "--format", "json").stdout
    tried = json.loads(said)["repair"]["attempts"][0]
    assert (tried["predictions_changed"], tried["verdict"]) == (None, "PASS")
    assert tried["predictions_changed_text"] == "not decided"


@pytest.fixture
def voting(files):
    """The files with a PMML forest in place of the tree: its second tree has a leaf of 8."""
    trees = stump(40.0, "no", "yes"), stump(55.0, "no", "yes"), by_sex("yes", "no")
    files.model.write_bytes(converted(forest(*trees), "pmml"))
    return files


def test_the_segments_of_pmml_that_need_no_change_are_kept_byte_for_byte(voting):
    target = voting.folder / "fixed.pmml"
    outcome = voting.run("repair", "--policy", voting.policy("harsh"), "-o", target)
    assert outcome.exit_code == 0, outcome.output
    before, after = voting.model.read_bytes(), target.read_bytes()
    begins, ends = before.index(b'<Segment id="2"'), before.index(b'<Segment id="3"')
    assert after.startswith(before[:begins])
    assert after.endswith(before[ends:])
    assert [len(tree.leaves) for tree in read_model(target).trees] == [2, 1, 2]
    voting.model.write_bytes(after)
    assert voting.run("audit", "--policy", voting.policy("harsh")).exit_code == 0


def test_under_a_shipped_pack_the_pruned_ensemble_is_the_nearest_and_nothing_is_written(voting):
    target = voting.folder / "fixed.pmml"
    outcome = voting.run("repair", "-o", target)
    said = " ".join(outcome.output.split())
    assert "Nearest: 1 of 3 trees changes" in said
    assert "could not be combined" in said
    assert not target.exists()
    applied = voting.run("repair", "-o", target, "--apply", "prune_apt")
    assert (applied.exit_code, target.exists()) == (3, False)


def test_an_ensemble_whose_leaves_are_sound_stays_undetermined(voting):
    outcome = voting.run("repair", "--policy", voting.policy("truth"), "--list")
    assert outcome.exit_code == 3
    assert "its trees could not be combined" in " ".join(outcome.output.split())


def test_the_reports_show_the_same_tree_before_and_after_and_count_all_leaves(voting):
    asked = ["--policy", voting.policy("harsh"), "--list"]
    said = unpack(json.loads(voting.run("repair", *asked, "--format", "json").stdout))["repair"]
    before, after = said["before"], said["after"]
    assert (before["leaves"], after["leaves"]) == (6, 5)
    assert before["title"] == "Before the repair; the picture shows tree 2 of 3"
    assert after["title"] == "After: recommended; the picture shows tree 2 of 3"
    assert (len(before["tree"]), len(after["tree"])) == (3, 1)
    page = voting.run("repair", *asked, "--format", "html").stdout
    assert "A repaired model meets the policy." in page


def test_a_table_is_not_published_beside_an_ensemble(voting):
    asked = ["--policy", voting.policy("harsh"), "-o", voting.folder / "fixed.pmml"]
    outcome = voting.run("repair", *asked, "--with-table", voting.folder / "beside.csv")
    assert outcome.exit_code == 4
    assert "together with a single tree" in outcome.stderr


def test_an_ensemble_in_a_format_that_is_only_read_says_what_can_be_done(tmp_path):
    case = shrunk(tmp_path, "catboost.json")
    outcome = case.run("repair", case.model, "-o", case.fixed)
    assert outcome.exit_code == 4
    assert "treewarden can read this format (catboost_json), but cannot write it" in outcome.stderr
    assert "add --to pmml to write only the trees" in outcome.stderr
    misnamed = case.run("repair", case.model, "-o", case.fixed, "--to", "pmml")
    assert (misnamed.exit_code, "name it fixed-catboost.pmml" in misnamed.stderr) == (4, True)
    fixed = case.fixed.with_suffix(".pmml")
    assert case.run("repair", case.model, "-o", fixed, "--to", "pmml").exit_code == 0
    assert read_model(fixed).format == "pmml"


def test_an_ensemble_has_no_place_in_a_format_of_one_tree(voting):
    asked = ["--policy", voting.policy("harsh"), "-o", voting.folder / "fixed.json"]
    outcome = voting.run("repair", *asked, "--to", "treewarden_json")
    assert outcome.exit_code == 4
    assert "can hold only one tree, and this is an ensemble" in outcome.stderr


def test_weights_and_the_way_of_voting_are_kept(files):
    model = forest(stump(55.0, "no", "yes"), by_sex("yes", "no"))
    weighed = converted(model, "pmml").replace(b"majorityVote", b"weightedMajorityVote")
    files.model.write_bytes(weighed.replace(b'weight="1"', b'weight="0.25"', 1))
    target = files.folder / "fixed.pmml"
    assert files.run("repair", "--policy", files.policy("harsh"), "-o", target).exit_code == 0
    found = read_model(target)
    assert found.combination is Combination.WEIGHTED_MAJORITY_VOTE
    assert [member.weight for member in found.members] == [0.25, 1.0]


@pytest.mark.parametrize("name", ["GradientBoostingClassifier", "HistGradientBoostingClassifier"])
def test_boosting_that_no_format_holds_names_settings_that_its_estimator_has(name, tmp_path):
    skops, ensemble = pytest.importorskip("skops.io"), pytest.importorskip("sklearn.ensemble")
    people = pd.DataFrame({"age": np.arange(60) % 7})
    people["label"] = np.where(people.age > 3, "yes", "no")
    estimator = getattr(ensemble, name)(max_depth=1, random_state=0)
    skops.dump(estimator.fit(people[["age"]], people.label), tmp_path / "model.skops")
    people.to_csv(tmp_path / "people.csv", index=False)
    asked = ["--data", tmp_path / "people.csv", "--sensitive", "label"]
    files = [tmp_path / "model.skops", *asked, "-o", tmp_path / "fixed.skops"]
    outcome = run_command("repair", *map(str, files))
    assert outcome.exit_code == 4
    settings = re.findall(r"'(\w+)': \[", outcome.stderr)
    assert len(settings) == 2
    assert set(settings) <= set(estimator.get_params())
