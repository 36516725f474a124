"""Draws repeated from a seed: believed where every leaf agrees, and what they prove of profiles is so."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.rows import rows
from tests.kit.small_audits import audit_model
from tests.kit.tiers import cases
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.cells import ReleaseCells, cells_of, class_by_leaf, rows_of
from treewarden.audit.joint.draws import Units, bits, by_profile, drawn_sums, replays
from treewarden.audit.joint.ensemble_inference import JoinedTrees
from treewarden.audit.joint.profiles import in_trees, worlds_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import RowOrder
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.jobs.inputs import opened, read
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import load_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT as SKOPS
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Tree,
)

QUICK = AuditOptions(worlds_budget=5.0)
UNKNOWN = Knowledge(row_order=RowOrder.UNKNOWN)


def audited(model, table, knowledge=None):
    return audit_model(model, table, "y", options=QUICK, knowledge=knowledge).full


def people_of(seed=0, rows=120, classes=2):
    """Return a table as columns; several people have the same profile."""
    draw = np.random.default_rng(seed)
    columns = {name: draw.integers(0, 6, rows).astype(float) for name in "ab"}
    score = columns["a"] + columns["b"] + draw.normal(0, 2, rows)
    cuts = np.quantile(score, np.arange(1, classes) / classes + 0.07)
    return {**columns, "y": np.digitize(score, cuts)}


def forest_model(columns, kind="RandomForestClassifier", **settings):
    ensemble = pytest.importorskip("sklearn.ensemble", reason="grows the forests")
    skops = pytest.importorskip("skops.io", reason="writes the forests")
    settings = {"n_estimators": 20, "min_samples_leaf": 4, "random_state": 5, **settings}
    x = np.column_stack([columns["a"], columns["b"]])
    grown = getattr(ensemble, kind)(**settings).fit(x, columns["y"])
    return SKOPS.open(skops.dumps(grown), "m.skops").model


def written(columns, order=None):
    """Return columns as a table under the names that a file without names gives them, its rows in an order."""
    order = np.arange(len(columns["y"])) if order is None else order
    names = {"a": "x0", "b": "x1", "y": "y"}
    text = {names[name]: [f"{value:g}" for value in each[order]] for name, each in columns.items()}
    return table_of({k: [float(v) if k != "y" else v for v in each] for k, each in text.items()})


def check_true(evidence):
    """Check that nothing is proved that is not so; return the worlds."""
    worlds, truth = evidence.worlds, evidence.population.truth
    assert isinstance(worlds, ConsistentTables)
    assert ((worlds.low <= truth) & (truth <= worlds.high)).all()
    assert (worlds.reached_low >= worlds.low).all()
    assert all(worlds.reasons[profile] for profile in np.flatnonzero(worlds.certain))
    return worlds


@pytest.mark.parametrize(
    ("kind", "settings", "classes"),
    cases(
        [
            ("RandomForestClassifier", {}, 2),
            ("RandomForestClassifier", {"max_samples": 0.6}, 3),
            ("ExtraTreesClassifier", {"bootstrap": True}, 2),
            ("RandomForestClassifier", {"max_samples": 50, "max_depth": 3}, 2),
            ("RandomForestClassifier", {}, 3),
            ("RandomForestClassifier", {"max_samples": 0.6}, 2),
            ("RandomForestClassifier", {"max_samples": 50, "max_depth": 3}, 3),
            ("ExtraTreesClassifier", {"bootstrap": True}, 3),
        ],
        quick=2,
    ),
)
def test_a_forest_is_repeated_and_what_follows_is_true(kind, settings, classes):
    columns = people_of(1, classes=classes)
    full = audited(forest_model(columns, kind, **settings), written(columns))
    worlds = check_true(full.evidence)
    found = full.evidence.together
    assert (found.is_replayed, found.is_complete, found.recovered_share) == (True, True, 1.0)
    assert (
        "the rows that each tree was trained on, drawn again with the seed in the file"
        in found.said
    )
    loose = audited(forest_model(columns, kind, **settings), written(columns), UNKNOWN)
    assert not (check_true(loose.evidence).certain & ~worlds.certain).any()
    assert (worlds.low >= loose.evidence.worlds.low).all()
    shares, people = full.evidence.estimate.values, full.evidence.population.counts
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(people)))


def test_records_in_another_order_are_not_taken_for_those_of_the_training():
    columns = people_of(2)
    turned = np.random.default_rng(0).permutation(len(columns["y"]))
    found = audited(forest_model(columns), written(columns, turned)).evidence.together
    assert not found.is_replayed
    assert not found.is_complete


@pytest.mark.parametrize("classes", [2, 3])
def test_of_draws_that_nobody_knows_nothing_passes(classes):
    columns = people_of(3, classes=classes)
    full = audited(forest_model(columns), written(columns), UNKNOWN)
    worlds = check_true(full.evidence)
    mixed = full.evidence.population.truth.min(axis=1) > 0
    assert (worlds.open_profiles | worlds.certain | mixed | (classes > 2)).all()
    assert isinstance(full.evidence.estimate, Undetermined)
    assert isinstance(full.measured("estimate_gain").reading, Undetermined)
    share = full.measured("recovered_leaves").reading
    assert isinstance(share, Interval)
    assert share.high == 1.0
    certain = full.measured("certain_disclosure").reading
    assert certain.low < certain.high


def leaf(index, test, counts):
    return Node(index, str(index), 0, (), test, "no", float(sum(counts)), counts)


def stump(at, low, high):
    """Return a tree on ``x`` whose leaves hold these draws of no and yes."""
    total = tuple(float(a + b) for a, b in zip(low, high, strict=True))
    root = Node(0, "0", None, (1, 2), records=sum(total), class_counts=total)
    tests = NumericTest("x", high=at, high_closed=True), NumericTest("x", low=at)
    features = (Feature("x", numeric=True),)
    nodes = (root, leaf(1, tests[0], low), leaf(2, tests[1], high))
    return Tree(nodes, features, "y", ("no", "yes"), quality=Quality.WEIGHTED)


def sampled(*trees):
    members = tuple(Member(tree) for tree in trees)
    return Ensemble(
        members,
        Combination.AVERAGE,
        trees[0].features,
        "y",
        ("no", "yes"),
        sampling=TreeSampling(resampled=True),
    )


HAND = table_of({"x": [1.0, 2.0, 3.0, 4.0], "y": ["no", "yes", "yes", "no"]})


def hand_sums(*trees, draws=None):
    model = sampled(*trees)
    people = build_population(model, HAND, sensitive="y")
    forest = forest_of(model, people)
    units = by_profile(forest.stops, people)
    return drawn_sums(forest, units if draws is None else replace(units, draws=np.array(draws)))


def test_a_class_that_was_drawn_is_there_and_nothing_more_is_known():
    sums = hand_sums(stump(1.5, (2.0, 0.0), (1.0, 1.0)), stump(3.5, (1.0, 5.0), (0.0, 0.0)))
    assert sums.low.tolist() == [0, 1, 1, 0]
    assert sums.high.tolist() == [0, 2, 2, 1]
    assert not sums.is_complete


def test_a_leaf_with_more_classes_than_people_is_of_another_table():
    found = hand_sums(stump(1.5, (1.0, 1.0), (1.0, 1.0)))
    assert isinstance(found, Undetermined)


def test_draws_are_sums_over_people_as_often_as_drawn():
    sums = hand_sums(stump(2.5, (2.0, 1.0), (1.0, 0.0)), draws=[[2, 1, 0, 1]])
    assert sums.low.tolist() == sums.high.tolist() == [1, 0]
    assert sums.is_complete
    assert isinstance(
        hand_sums(stump(2.5, (2.0, 1.0), (1.0, 0.0)), draws=[[2, 0, 1, 1]]), Undetermined
    )


def test_rows_hold_how_often_each_was_drawn_and_leave_out_whom_no_one_drew():
    stops, draws = np.array([[1, 1, 2, 2]]), np.array([[2, 1, 0, 1]])
    sums = hand_sums(stump(2.5, (2.0, 1.0), (1.0, 0.0)), draws=draws.tolist())
    cells = cells_of(stops, np.ones(4), draws)
    assert len(set(cells.of.tolist())) == 4
    rows = rows_of([ReleaseCells(stops, sums, draws=draws)], cells, 2)
    table = rows.matrix.toarray()[:, cells.of]
    assert table.tolist() == [[2, 1, 0, 0], [0, 0, 0, 1]]
    assert rows.people.tolist() == [3, 1]
    assert class_by_leaf(rows, cells).tolist() == [-1, -1, -1, 0]


def test_people_of_a_profile_are_certain_only_if_all_their_records_are_of_one_class():
    units = Units(
        np.zeros((1, 4), dtype=int), np.ones(4), np.array([0, 0, 1, 1]), None, np.ones((1, 4))
    )
    assert units.agreed(np.array([1, 1, 0, 1])).tolist() == [1, -1]
    assert units.agreed(np.array([-1, 1, 0, 0])).tolist() == [-1, 0]
    shares = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    assert units.mean(shares).tolist() == [[0.5, 0.5], [0.75, 0.25]]


def test_few_leaves_prove_no_order():
    stops = np.array([[1] * 10 + [2] * 10])
    draws = np.tile([0, 1], 10)[None, :]
    few = Units(stops, np.ones(20), np.arange(20), None, draws)
    chance = (
        63504 / 184756
    )  # five of ten, and five of the other ten, of all ways to draw ten of twenty
    assert bits(few, with_replacement=False) == pytest.approx(-np.log2(chance))
    twice = replace(few, stops=np.tile(stops, (2, 1)), draws=np.tile(draws, (2, 1)))
    assert bits(twice, with_replacement=False) == bits(few, with_replacement=False)
    assert bits(few, with_replacement=True) < bits(few, with_replacement=False) + 2


@pytest.mark.parametrize(
    ("name", "knowledge", "is_replayed"),
    [
        ("sampled_exact", Knowledge(), True),
        ("sampled_hist", Knowledge(seeds=(3, 7)), True),
        ("sampled_hist", Knowledge(), None),
        ("sampled_hist", Knowledge(training={"subsample": 0.8, "seed": 7}), True),
        ("sampled_hist", Knowledge(training={"subsample": 0.8, "seed": 8}), False),
        ("sampled_exact", UNKNOWN, None),
    ],
)
def test_an_xgboost_sample_is_repeated_from_0_or_from_a_seed_that_is_told(
    name, knowledge, is_replayed
):
    full = audited(opened(FOLDER / f"{name}.json").model, read(FOLDER / "two.csv"), knowledge)
    found = full.evidence.together
    if is_replayed is None:
        assert isinstance(found, Undetermined)
        return
    assert (found.is_replayed, found.is_complete) == (is_replayed, is_replayed)
    check_true(full.evidence)
    assert found.facts["subsample"].value == pytest.approx(0.5 if "exact" in name else 0.8)


def test_a_policy_is_not_met_by_bounds_alone():
    model, table = opened(FOLDER / "sampled_hist.json").model, read(FOLDER / "two.csv")
    knowledge = Knowledge(training={"subsample": 0.8}, row_order=RowOrder.UNKNOWN)
    people = build_population(model, table, sensitive="y")
    decision = judge(run(model, people, knowledge, options=QUICK), load_pack("standard"))
    assert decision.verdict is not PolicyVerdict.PASS


def test_draws_that_nothing_in_the_file_can_be_held_against_are_not_believed():
    model = opened(FOLDER / "sampled_exact.json").model
    people = build_population(model, read(FOLDER / "two.csv"), sensitive="y")
    forest = forest_of(model, people)
    assert (
        len(list(replays(forest, people, model.growth, ()))) == 1
    )  # shares that draw the same are tried once
    first, *others = model.growth.trees
    bare = replace(model.growth, trees=(first, *(replace(each, hessians=None) for each in others)))
    assert list(replays(forest, people, bare, ())) == []
    assert list(replays(forest, replace(people, order=None), model.growth, ())) == []


@rows("seed", range(40))
def test_what_is_said_of_profiles_is_what_all_tables_of_records_say(seed):
    draw = np.random.default_rng(seed)
    profile = np.sort(np.r_[0, 1, 2, draw.integers(0, 3, 4)])
    stops = draw.integers(1, 3, (3, 3))[:, profile]
    draws = draw.integers(0, 3, stops.shape)
    labels = draw.integers(0, 2, len(profile))
    truth = np.stack([1 - labels, labels], axis=1).astype(float)
    units = Units(stops, np.ones(len(profile)), profile, truth, draws)
    leaves = [(t, int(n)) for t in range(3) for n in np.unique(stops[t])]
    total = np.array([((stops[t] == n) * draws[t]) @ labels for t, n in leaves])
    trees, nodes = np.array(leaves).T
    ones, none = np.ones(len(leaves), dtype=int), np.zeros(len(leaves))
    sums = LeafSums(trees, nodes, ones, total, total, none, {})
    cells = cells_of(stops, units.people, draws)
    rows = rows_of([ReleaseCells(stops, sums, draws=draws)], cells, 2)
    joint = reason(rows, truth=cells.summed(truth), budget=TimeBudget(FOREVER))
    by_profile_ = np.stack([np.bincount(profile, each) for each in truth.T], axis=1)
    people = Population((), {}, by_profile_.sum(axis=1), np.zeros(3, dtype=int), by_profile_)
    joined = JoinedTrees(None, units, cells, rows, joint)
    trees_ = (stump(1.5, (1.0, 0.0), (1.0, 0.0)),) * 3  # only asked for the names of their leaves
    worlds = worlds_of(joined, people, in_trees(trees_), ("no", "yes"))
    fits = [
        np.bincount(profile, table, 3)
        for table in map(np.array, itertools.product((0, 1), repeat=len(profile)))
        if all(
            ((stops[t] == n) * draws[t]) @ table == k
            for (t, n), k in zip(leaves, total, strict=True)
        )
    ]
    low, high = np.min(fits, axis=0), np.max(fits, axis=0)
    assert (worlds.low[:, 1] <= low).all()
    assert (high <= worlds.high[:, 1]).all()
    assert (low <= worlds.reached_low[:, 1]).all()
    assert (worlds.reached_high[:, 1] <= high).all()
    assert (worlds.reached_low[:, 1] <= by_profile_[:, 1]).all()
    assert (worlds.certain <= ((low == high) & ((low == 0) | (low == worlds.counts)))).all()
