"""Leaf totals as cells of a table of magnitudes: worked examples of the handbook, and cells decided unit by unit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges.magnitude_rules import breaks_dominance, breaks_frequency, breaks_p_percent
from tests.kit.forests import forest
from tests.kit.grown_models import FOLDER
from tests.kit.small_audits import flat_tree, read
from tests.kit.tiers import examples
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.evidence import NO_NUMBER, NOT_RUN, Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call, measures
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.regression.inference import values_of
from treewarden.jobs.inputs import opened
from treewarden.jobs.population import with_contributors
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import read_table_bytes
from treewarden.ppdm_models.tree.ensemble import Combination
from treewarden.ppdm_models.tree.nodes import LearnerFigures
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree


def regression_tree(means):
    """Return a tree with one split on ``place`` and a leaf for each mean."""
    places = tuple(f"p{leaf}" for leaf in range(len(means)))
    below = [
        Node(leaf + 1, f"leaf {leaf + 1}", 0, (), CategoryTest("place", (place,)), mean, None)
        for leaf, (place, mean) in enumerate(zip(places, means, strict=True))
    ]
    root = Node(0, "root", None, tuple(range(1, len(means) + 1)), Always(), 0.0, None)
    features = (Feature("place", False, places),)
    return Tree((root, *below), features, "turnover", (), task=Task.REGRESSION)


def evidence_of(cells, *, weights=None, ids=None, means=None, option="sampling_weights"):
    """Return what an audit knows of cells, each a list of contributions; the leaves say their (weighted) means."""
    weights = [[1] * len(cell) for cell in cells] if weights is None else weights
    ids = (
        [[f"{i}.{j}" for j in range(len(cell))] for i, cell in enumerate(cells)]
        if ids is None
        else ids
    )
    if means is None:
        means = [float(np.average(x, weights=w)) for x, w in zip(cells, weights, strict=True)]
    lines = ["place,turnover,weight,holding"]
    for place, (cell, weight, holders) in enumerate(zip(cells, weights, ids, strict=True)):
        lines += [f"p{place},{x},{w},{h}" for x, w, h in zip(cell, weight, holders, strict=True)]
    table = read_table_bytes("\n".join(lines).encode(), "firms.csv")
    tree = regression_tree(means)
    is_weighed = any(w != 1 for weight in weights for w in weight)
    people = build_population(
        tree, table, sensitive="turnover", **({option: "weight"} if is_weighed else {})
    )
    if any(len(set(holders)) < len(holders) for holders in ids):
        people = with_contributors(people, table, "holding")
    return evidence(tree, people)


def evidence(model, people, numbers=NO_NUMBER):
    unknown = Undetermined("not asked")
    return Evidence(
        forest_of(model, people),
        people,
        Knowledge(),
        unknown,
        unknown,
        NOT_RUN,
        (),
        numbers=numbers,
    )


def value(measure, cells, parameters=None, **more):
    reading = read(measure, evidence_of(cells, **more), **(parameters or {})).reading
    assert reading.is_exact
    return reading.low


def test_the_handbooks_first_example_is_safe_by_one_rule_and_not_by_the_other():
    # X = 100,000 with 50,000 and 49,000: 50 % dominate, but the second is off about the first by 2 % only
    cell = [50_000, 49_000, 1_000]
    assert value("dominance", [cell], {"n": 1}) == 0.5
    assert value("p_percent", [cell]) == 0.02


def test_each_leaf_has_the_value_of_its_own_total():
    cells = [[50_000, 49_000, 1_000], [52_000, 50_000, *[1_000] * 8]]
    asked = call("dominance", {"n": 1.0})
    places = measures()["dominance"].per_place(evidence_of(cells), dict(asked.parameters))
    assert places.low.tolist() == places.high.tolist() == pytest.approx([0.5, 52 / 110])


def test_the_handbooks_second_example_is_safe_by_p_percent_and_not_by_dominance():
    # X = 110,000 with 52,000 and 50,000: off by 15.4 %, and 92.7 % dominate
    cell = [52_000, 50_000, *[1_000] * 8]
    assert value("p_percent", [cell]) == pytest.approx(8_000 / 52_000)
    assert value("dominance", [cell]) == pytest.approx(102 / 110)


SPREAD_CELLS = [[50, 40, 35], [90.5, 40, 30, 21.25, 20]]


def with_spreads(evidence_, cells):
    """Return the same audit of a file that also publishes how far the numbers of each leaf spread."""
    tree = evidence_.forest.model
    leaves = [
        replace(node, figures=LearnerFigures(spread=(np.var(cell), np.var(cell))))
        for node, cell in zip(tree.nodes[1:], cells, strict=True)
    ]
    tree = replace(tree, nodes=(tree.nodes[0], *leaves))
    return evidence(tree, evidence_.population)


def test_a_published_variance_tells_a_contributor_more_than_the_total():
    # 40 knows that two others have 85 together and squares of 3725: 50 and 35, although (125 - 50 - 40) / 50 is 70 %
    assert value("p_percent", SPREAD_CELLS[:1]) == pytest.approx(0.7)
    found = read("p_percent", with_spreads(evidence_of(SPREAD_CELLS[:1]), SPREAD_CELLS[:1]))
    assert (found.reading.low, found.reading.high) == (0, pytest.approx(0, abs=1e-9))


def test_of_several_others_a_variance_leaves_what_no_attacker_excludes():
    # 40 subtracts: four others with 161.75 and the squares of 90.5, 30, 21.25, 20; the largest is at most 91.125
    spread, total = with_spreads(evidence_of(SPREAD_CELLS), SPREAD_CELLS), [90.5, 30, 21.25, 20]
    most = np.mean(total) + np.std(total) * np.sqrt(3)
    spot = {spot.index: spot for spot in read("p_percent", spread).spots}[2]
    assert spot.high == pytest.approx(most / 90.5 - 1)
    # Numbers of a known step leave fewer tables than that, so what remains is not known.
    assert spot.low == 0
    assert "publishes how far" in spot.note


@pytest.mark.parametrize("place", [0, 1])
def test_a_variance_that_some_nodes_alone_publish_leaves_p_percent_open(place):
    spread = with_spreads(evidence_of(SPREAD_CELLS), SPREAD_CELLS)
    tree = spread.forest.model
    figures = LearnerFigures(spread=(500.0, 500.0))
    nodes = [replace(node, figures=LearnerFigures()) for node in tree.nodes]
    nodes[place] = replace(nodes[place], figures=figures)
    found = read("p_percent", evidence(replace(tree, nodes=tuple(nodes)), spread.population))
    assert all(spot.low == 0 for spot in found.spots)


def test_numbers_of_a_file_that_no_rule_uses_leave_p_percent_open():
    one = evidence_of([[100, 50, 30, 20]])
    tree = replace(one.forest.model, unused=("impurities",))
    found = read("p_percent", evidence(tree, one.population)).reading
    assert (found.low, found.high) == (0, 0.5)
    assert read("dominance", evidence(tree, one.population)).reading == Interval(0.75, 0.75)


def test_who_knows_the_others_well_beforehand_is_nearer_by_as_much():
    assert value("p_percent", [[100, 50, 30, 20]], {"q": 0.5}) == 0.25


def test_weights_that_are_known_can_be_undone():
    # 4 x 100 and 7 x 10: each of the two can subtract its own part, and the total says the rest
    cells, weights = [[100, 10]], [[4, 7]]
    assert value("p_percent", cells, weights=weights) == 0
    assert value("dominance", cells, {"n": 1}, weights=weights) == pytest.approx(400 / 470)


def test_weights_that_are_repeated_stand_for_units_as_in_the_handbooks_example():
    # 100, 100, 100, 100, 10 ... 10: the two largest are 100 and 100, of 470
    cells, weights, repeated = [[100, 10]], [[4, 7]], {"weights": "repeated"}
    assert value("p_percent", cells, repeated, weights=weights) == 2.7
    assert value("dominance", cells, repeated, weights=weights) == pytest.approx(200 / 470)
    assert value("contributors", cells, weights=weights) == 2


def test_of_weights_that_are_not_whole_the_last_unit_is_a_part():
    cells, weights = [[100, 10]], [[1.5, 2.5]]
    found = value("dominance", cells, {"weights": "repeated"}, weights=weights)
    assert found == pytest.approx((150 + 5) / 175)


def test_a_row_that_stands_for_several_people_is_as_many_contributions():
    cells, weights = [[100, 10]], [[4, 7]]
    assert value("p_percent", cells, weights=weights, option="weights") == 2.7
    assert value("contributors", cells, weights=weights, option="weights") == 11


def test_several_records_of_one_contributor_are_one_contribution():
    cells, ids = [[40, 30, 20, 10]], [["a", "b", "b", "c"]]
    assert value("contributors", cells, ids=ids) == 3
    assert value("p_percent", cells, ids=ids) == 0.2
    assert value("dominance", cells, {"n": 1}, ids=ids) == 0.5


def test_holdings_count_in_each_leaf_for_what_they_add_there():
    cells, ids = [[40, 30], [30, 20, 10]], [["a", "b"], ["b", "b", "c"]]
    spots = read("contributors", evidence_of(cells, ids=ids)).spots
    assert {spot.index: spot.low for spot in spots} == {1: 2, 2: 2}
    spots = read("dominance", evidence_of(cells, ids=ids), n=1).spots
    assert {spot.index: spot.low for spot in spots} == {1: 40 / 70, 2: 50 / 60}


def test_weighed_records_of_one_contributor_have_no_units():
    found = evidence_of([[40, 30, 20]], weights=[[2, 3, 4]], ids=[["a", "b", "b"]])
    assert read("p_percent", found).reading.low == 0
    assert (
        "their owners are not known" in read("p_percent", found, weights="repeated").reading.reason
    )


def test_one_or_two_contributors_are_no_protection():
    assert value("p_percent", [[7]]) == value("p_percent", [[7, 5]]) == 0
    assert value("dominance", [[7]]) == value("dominance", [[7, 5]]) == 1


def test_a_total_of_zero_says_that_each_adds_nothing():
    cells = [[0, 0, 0, 0], [5, 5, 5, 5]]
    assert value("p_percent", cells) == 0
    assert value("dominance", cells) == 1
    assert not breaks_p_percent(cells[0], 10)  # sdcTable and the handbook leave that open


def test_the_limit_itself_is_safe():
    assert value("dominance", [[60, 25, 10, 5]]) == 0.85
    assert value("p_percent", [[100, 80, 6, 4]]) == 0.1


def test_rules_of_concentration_are_not_for_negative_contributions():
    for measure in ("dominance", "p_percent"):
        assert "negative" in read(measure, evidence_of([[5, -1, 3]])).reading.reason
    assert value("contributors", [[5, -1, 3]]) == 3


@pytest.mark.parametrize("measure", ["dominance", "p_percent"])
def test_what_is_no_total_of_these_people_is_not_judged(measure):
    assert (
        "means of the table's values"
        in read(measure, evidence_of([[1, 2, 9]], means=[2.0])).reading.reason
    )
    assert (
        "publish no totals" in read(measure, evidence_of([[1, 2, 9]], means=[2.0])).reading.reason
    )
    classes = flat_tree([[14, 6], [3, 3]])
    table = read_table_bytes(b"place,illness\np0,c0\np1,c1\n", "t.csv")
    tree = replace(
        classes, nodes=tuple(replace(n, records=None, class_counts=None) for n in classes.nodes)
    )
    people = build_population(tree, table, sensitive="illness")
    assert "predicts a class" in read(measure, evidence(tree, people)).reading.reason


def test_means_that_were_rounded_are_still_means():
    assert value("p_percent", [[1, 1, 2]], means=[1.33]) == 0.5


def test_a_leaf_may_be_the_mean_of_people_or_of_their_weights_and_both_are_looked_at():
    # all 1: means of people and of weights are the same
    found = read("dominance", evidence_of([[1, 1, 1]], weights=[[8, 1, 1]]), n=1).reading
    assert (found.low, found.high) == (pytest.approx(1 / 3), 0.8)


def test_models_of_a_library_are_judged_where_their_leaves_can_be_turned_back():
    data = (FOLDER / "numbers_whole.csv").read_bytes()
    for name, reason in {
        "tree.skops": "contributions are negative",
        "xgboost.json": "contributions are negative",
        "bootstrap.skops": "bootstrap sample",
        "median.skops": "means of the table's values",
        "bagged.txt": "bagging",
    }.items():
        model = opened(FOLDER / f"numbers_{name}").model
        people = build_population(model, read_table_bytes(data, "t.csv"), sensitive="y")
        numbers = values_of(forest_of(model, people), people, TimeBudget(FOREVER, 1.0))
        known = evidence(model, people, numbers)
        for measure in ("dominance", "p_percent"):
            assert reason in read(measure, known).reading.reason, (name, measure)


def test_leaves_of_a_forest_and_of_a_boosted_model_are_totals_too():
    cells, means = [[40, 30, 20, 10], [7, 5, 5]], [25.0, 17 / 3]
    one = evidence_of(cells)
    tree = regression_tree(means)
    averaging = forest(tree, tree, resampled=False, features=tree.features, target="turnover")
    found = evidence(averaging, one.population)
    assert read("p_percent", found).reading == read("p_percent", one).reading
    assert {spot.tree for spot in read("p_percent", found).spots} == {0, 1}
    summed = replace(averaging, combination=Combination.SUM)
    why = Undetermined("the growth is not known")
    assert read("dominance", evidence(summed, one.population, why)).reading == why


def test_a_record_without_an_owner_is_an_error():
    table = read_table_bytes(b"place,turnover,holding\np0,1,a\np0,2,\n", "firms.csv")
    people = build_population(regression_tree([1.5]), table, sensitive="turnover")
    with pytest.raises(TableError, match="record 2: no value, so the person is unknown"):
        with_contributors(people, table, "holding")
    with pytest.raises(TableError, match="no column 'holdings'"):
        with_contributors(people, table, "holdings")


def test_spots_say_how_it_stands_in_each_leaf():
    found = evidence_of([[40, 30, 20, 10], [7, 5]])
    assert [spot.note for spot in read("p_percent", found).spots] == [
        "2 contributors; the largest can be estimated to within 0 %",
        "4 contributors; the largest can be estimated to within 75 %",
    ]
    assert (
        read("dominance", found).spots[1].note
        == "4 contributors; the 2 largest add 70 % of the total"
    )
    assert (
        measures()["dominance"]
        .words({"n": 1.0})
        .startswith("largest share of a leaf's total that comes from its largest contributor")
    )


CELLS = st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=7), min_size=1, max_size=4)


@settings(max_examples=examples(200), deadline=None)
@given(CELLS, st.integers(1, 3), st.integers(50, 99), st.integers(1, 60), st.data())
def test_each_leaf_is_sensitive_where_the_rule_says_so_unit_by_unit(cells, n, k, p, data):
    weights = data.draw(
        st.one_of(
            st.none(), st.tuples(*(st.tuples(*(st.integers(1, 4) for _ in c)) for c in cells))
        )
    )
    found = evidence_of(cells, weights=weights)
    given_ = {"weights": "repeated"}
    for position, cell in enumerate(cells):
        if not sum(cell):
            continue
        units = weights[position] if weights is not None else None
        dominance = {s.index: s for s in read("dominance", found, n=n, **given_).spots}[
            position + 1
        ]
        margin = {s.index: s for s in read("p_percent", found, **given_).spots}[position + 1]
        count = {s.index: s for s in read("contributors", found).spots}[position + 1]
        if dominance.low == dominance.high:
            assert (dominance.high > k / 100) == breaks_dominance(cell, n, k, units)
        if margin.low == margin.high:
            assert (margin.low < p / 100) == breaks_p_percent(cell, p, weights=units)
        assert (count.low < n) == breaks_frequency(cell, n)


@settings(max_examples=examples(200), deadline=None)
@given(CELLS, st.integers(1, 3), st.data())
def test_a_sum_of_safe_leaves_is_safe_so_inner_nodes_need_no_look(cells, n, data):
    ids = [data.draw(st.tuples(*(st.integers(0, 6) for _ in cell))) for cell in cells]
    if not all(sum(cell) for cell in cells):
        return
    leaves = evidence_of(cells, ids=ids)
    whole = evidence_of([sum(cells, [])], ids=[sum(map(list, ids), [])])
    for measure, is_worse in (
        ("dominance", np.greater),
        ("p_percent", np.less),
        ("contributors", np.less),
    ):
        given_ = {"n": n} if measure == "dominance" else {}
        bad = "high" if measure == "dominance" else "low"
        inner, outer = (
            getattr(read(measure, each, **given_).reading, bad) for each in (whole, leaves)
        )
        assert not is_worse(inner, outer + (1e-12 if bad == "high" else -1e-12))
