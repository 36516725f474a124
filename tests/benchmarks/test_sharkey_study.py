"""The study of Sharkey et al. 2008 learns, parts and judges as it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the study's global models are scikit-learn's")

from benchmarks.studies import sharkey_2008, sharkey_data
from benchmarks.studies.pruning_data import Records
from benchmarks.studies.sharkey_data import equal_width
from benchmarks.studies.sharkey_findings import FINDINGS, Found
from benchmarks.studies.sharkey_models import MODELS, DecisionTable, DecisionTree, OneRule
from benchmarks.studies.sharkey_runs import DIVERSITY, Scores, Size, grown
from benchmarks.studies.sharkey_text import document
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

TINY = Size(3, 1, 1, 1, (1, 2), (1, 2))


def records(size=120, seed=0):
    """Records whose class is told by ``sign`` but for the last tenth of them; ``noise`` tells nothing."""
    random = np.random.default_rng(seed)
    sign, noise = random.integers(0, 3, size), random.integers(0, 4, size)
    target = np.where(np.arange(size) < size * 0.9, sign, 0).astype(np.int64)
    columns = {
        "sign": CategoricalColumn(codes=sign, categories=("a", "b", "c")),
        "noise": CategoricalColumn(codes=noise, categories=("p", "q", "r", "s")),
        "number": NumericColumn(random.random(size)),
    }
    return Records(columns, target, ("x", "y", "z"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a small Nursery and a small Car of random values."""
    place = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    for name in ("nursery", "car"):
        values = random.integers(0, 3, (240, 3))
        rows = ["one,two,three,class"]
        rows += [f"a{a},b{b},c{c},k{(a + b * (c > 0)) % 4}" for a, b, c in values]
        (place / f"{name}.csv").write_text("\n".join(rows), encoding="utf-8")
    return place


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_what_one_attribute_tells(name):
    learnt, other = records(seed=1), records(seed=2)
    right = MODELS[name](learnt).predict(other.columns) == other.target
    share = float(right.mean())
    assert share > (0.6 if name.startswith("conjunctive") else 0.8)


def test_a_rule_gives_one_class_where_it_holds_and_one_where_not():
    said = OneRule(records()).predict(records(seed=3).columns)
    assert len(set(said.tolist())) == 2


def test_a_decision_table_leaves_out_what_tells_nothing():
    assert DecisionTable(records()).chosen == ["sign"]


def test_a_record_that_no_row_of_the_table_matches_gets_the_common_class():
    learnt = records().take(np.flatnonzero(records().columns["sign"].codes < 2))
    found = DecisionTable(learnt)
    unseen = {n: c.take(np.array([0])) for n, c in learnt.columns.items()}
    unseen["sign"] = CategoricalColumn(codes=np.array([2]), categories=("a", "b", "c"))
    assert found.predict(unseen).tolist() == [np.bincount(learnt.target).argmax()]


def test_paths_are_their_class_and_what_they_say_of_each_attribute():
    model = DecisionTree(records().take(np.arange(100)))
    assert len(model.paths) == model.fitted.get_n_leaves()
    assert all(label in "xyz" for label, *_ in model.paths)
    assert any(name.startswith("sign=") for _, *path in model.paths for name, _ in path)


def test_folds_and_sources_part_the_records():
    held = [other for _, other in sharkey_data.folds(50, 0, 10, 10)]
    assert sorted(np.concatenate(held).tolist()) == list(range(50))
    parts = sharkey_data.sources(records(50), 4, [0, 0])
    assert sorted(len(own.target) for own in parts) == [12, 12, 13, 13]


def test_a_source_s_tree_speaks_of_all_its_records():
    assert grown(records()).root.records == 120


def test_what_is_not_there_is_said(folder):
    assert sharkey_data.missing(folder) == ["Adult", "CMC", "Train"]


def test_a_run_gives_every_figure_and_judges_every_finding_it_can(folder, tmp_path):
    found, sizes = sharkey_2008.study(folder, TINY, ("Nursery",))
    assert set(found.pseudo) == {"Nursery", "Car"}
    assert found.mean("Car", "BASIS", 0, "decision tree", "match") == 100
    assert found.mean("Car", "BASIS", 0, "decision tree", "paths") == 100
    assert found.diverse("Nursery", "LD", (5, 5), 0, "naive Bayes") is None
    text = document(found, TINY, sizes, ["Adult"], "the command", 1.0)
    rows = {one.said: one.row(found)[1] for one in FINDINGS}
    assert all(f"| {said} | {verdict} |" in text for said, verdict in rows.items())
    assert {rows[one.said] for one in FINDINGS if "Adult" in one.needs} == {"not judged"}
    assert rows["Class match is very similar to accuracy"] != "not judged"
    sharkey_2008.draw(tmp_path / "it.svg", found)
    assert b"<svg" in (tmp_path / "it.svg").read_bytes()


def test_the_figures_are_the_same_for_any_number_of_processes(folder):
    size = replace(TINY, most={"Nursery": 150}, repeated={"Car": 0})
    alone, said = sharkey_2008.study(folder, size, ("Nursery",))
    shared, _ = sharkey_2008.study(folder, size, ("Nursery",), 2)
    assert said["Nursery"].startswith("150 records")
    assert set(alone.pseudo) == {"Nursery"}
    # Text, as a figure that is not a number differs from itself.
    assert repr(alone) == repr(shared)


def private(method_right):
    """Figures in which a method is as often right as is said, whatever the demand; None is no data."""
    scores = {
        (method, need, count, model): [None if right is None else Scores(right, right)]
        for (method, count), right in method_right.items()
        for need in DIVERSITY
        for model in ("decision tree", "naive Bayes")
    }
    return Found({}, {"Nursery": scores}, (1,), (1,))


@pytest.mark.parametrize(
    ("ppgen", "verdict"), [(0.9, "yes"), (0.6, "partly"), (0.4, "no"), (0.5, "no")]
)
def test_far_ahead_means_thirty_points_under_every_demand(ppgen, verdict):
    found = private({("LD", 0): 0.5, ("PPGEN", 1): ppgen})
    said = next(one for one in FINDINGS if "beats LD" in one.said and "Nursery" in one.needs)
    assert said.row(found)[1] == verdict


def test_where_no_demand_gives_both_data_nothing_is_compared():
    found = private({("LD", 0): None, ("PPGEN", 1): 0.9})
    said = next(one for one in FINDINGS if "beats LD" in one.said and "Nursery" in one.needs)
    assert said.row(found)[1] == "not judged"


def test_equal_widths_are_halved_level_by_level():
    found = equal_width("n", 0.0, 8.0)
    assert found.cuts == ((1, 2, 3, 4, 5, 6, 7), (2, 4, 6), (4,), ())
