"""An ensemble in an audit: every tree is measured, draws are never people, and nothing joint is guessed."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.kit.forests import by_sex, forest, stump
from tests.kit.small_audits import audit_model
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.population.audited_columns import LACKS_TARGET
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Link, Member, with_trees
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Task

AGES = [20, 25, 30, 35, 45, 45, 55, 60, 60, 80]
SEX = list("FMFMFMFMFM")
FLU = ["no", "no", "yes", "no", "yes", "yes", "yes", "no", "yes", "yes"]
TABLE = table_of({"age": AGES, "sex": SEX, "flu": FLU})
K = MeasureCall("k_anonymity")
TWO = forest(stump(40.0, "no", "yes"), stump(70.0, "no", "yes"))


def audited(ensemble, measure=K, table=TABLE, sensitive="flu", leaks=()):
    audit = audit_model(ensemble, table, sensitive, [measure], leaks=leaks)
    return audit, audit.full.readings[measure]


def test_the_reading_is_the_worst_over_the_trees_and_names_the_tree():
    audit, taken = audited(TWO)
    assert taken.reading == Interval(1, 1)
    assert (taken.spots[0].tree, taken.spots[0].index) == (1, 2)
    assert audit.full.evidence.forest.shown == 1


@pytest.mark.parametrize("measure", ["k_anonymity", "label_disclosure", "distinct_diversity"])
def test_the_worst_over_all_trees_is_the_worst_of_each_alone(measure):
    trees = [stump(t, "no", "yes") for t in (28.0, 40.0, 58.0)] + [by_sex("yes", "no")]
    call = MeasureCall(measure)
    alone = [audited(forest(tree), call)[1].reading.low for tree in trees]
    worst = min if measure != "label_disclosure" else max
    assert audited(forest(*trees), call)[1].reading.low == worst(alone)


@pytest.mark.parametrize("name", shipped_packs())
def test_no_pack_that_ships_ever_clears_an_ensemble(name):
    pack = load_pack(name)
    table = table_of({"age": AGES * 20, "sex": SEX * 20, "flu": FLU * 20})
    audit = audit_model(TWO, table, "flu", calls(pack))
    decision = judge(audit, pack)
    assert decision.verdict in (PolicyVerdict.UNDETERMINED, PolicyVerdict.FAIL)
    assert "could not be combined" in " ".join(finding.message for finding in decision.findings)


def test_draws_are_never_read_as_people():
    drawn = forest(stump(40.0, "no", "yes", counts=(7.0, 3.0)), resampled=True)
    call = MeasureCall("cl_diversity", (("basis", "published"), ("l", 2.0)))
    audit, taken = audited(drawn, call)
    assert isinstance(taken.reading, Undetermined)
    assert "bootstrap sample" in taken.reading.reason
    assert audited(drawn)[1].reading == Interval(4, 4)
    assert any("bootstrap sample" in warning for warning in audit.warnings)


def test_counts_of_people_that_the_table_does_not_have_are_an_error():
    with pytest.raises(TableError, match="node '1' has 7 records in the file, 4 in the table"):
        audited(forest(stump(40.0, "no", "yes", counts=(7.0, 3.0)), resampled=False))


@pytest.mark.parametrize("resampled", [True, None])
@pytest.mark.parametrize("quality", [Quality.EXACT, Quality.HESSIAN, Quality.WEIGHTED])
def test_a_leaf_that_training_reached_and_nobody_of_the_table_does_means_another_table(
    resampled, quality
):
    other = forest(
        stump(10.0, "no", "yes", counts=(2.0, 8.0), quality=quality), resampled=resampled
    )
    with pytest.raises(TableError, match="was reached in training, but nobody"):
        audited(other)


def test_counts_that_may_be_draws_are_held_against_the_table():
    unsaid = forest(stump(40.0, "no", "yes", counts=(7.0, 3.0)))
    assert "random sample" in audited(unsaid)[0].warnings[0]
    agreeing = forest(stump(40.0, "no", "yes", counts=(4.0, 6.0)))
    assert audited(agreeing)[0].warnings == ()


def test_the_whole_models_predictions_are_held_against_the_table():
    people = build_population(TWO, TABLE, sensitive="flu")
    once = forest(stump(40.0, "no", "yes"))
    right = sum((age >= 40) == (flu == "yes") for age, flu in zip(AGES, FLU, strict=True)) / 10
    assert forest_of(once, people, "table").accuracy == Interval(right, right)


def test_predictions_that_are_not_evaluated_are_no_accuracy():
    people = build_population(TWO, TABLE, sensitive="flu")
    chain = forest(*TWO.trees, combination=Combination.MODEL_CHAIN)
    assert isinstance(forest_of(chain, people, "table").accuracy, Undetermined)


def test_a_tree_that_speaks_for_some_is_measured_on_those():
    women = CategoryTest("sex", ("F",))
    ensemble = forest(
        stump(40.0, "no", "yes"),
        members=(Member(stump(40.0, "no", "yes"), test=women), Member(by_sex("no", "yes"))),
    )
    _, taken = audited(ensemble)
    assert [(spot.tree, spot.low) for spot in taken.spots[:2]] == [(0, 2.0), (0, 3.0)]


def test_a_record_that_no_tree_takes_is_an_error():
    nobody = forest(
        stump(40.0, "no", "yes"),
        members=(Member(TWO.members[0].model, test=CategoryTest("sex", ("X",))),),
    )
    with pytest.raises(TableError, match="reaches no leaf of any tree"):
        audited(nobody)


def test_more_places_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(import_module("treewarden.audit.population.routing"), "MOST_STOPS", 19)
    with pytest.raises(TableError, match="2 trees times 10 profiles"):
        audited(TWO)


def test_nested_trees_are_measured_too():
    nested = forest(stump(40.0, "no", "yes"), members=(Member(TWO), Member(by_sex("no", "yes"))))
    assert audited(nested)[0].full.evidence.stops.shape == (3, 10)


def test_labels_in_another_order_of_classes_mean_the_same():
    other = stump(40.0, "no", "yes", classes=("yes", "no"))
    call = MeasureCall("label_disclosure")
    both = forest(stump(40.0, "no", "yes"), other)
    taken = audited(both, call)[1]
    assert {spot.low for spot in taken.spots if spot.tree == 0} == {
        spot.low for spot in taken.spots if spot.tree == 1
    }


def test_a_tree_whose_numbers_contradict_each_other_is_a_doubt():
    wrong = stump(40.0, "no", "yes", quality=Quality.INCONSISTENT)
    pack = load_pack("baseline")
    audit = audit_model(forest(by_sex("no", "yes"), wrong), TABLE, "flu", calls(pack))
    assert judge(audit, pack).findings[0].clause == "file-agrees"


LEAKS = (
    Leak(LeakKind.PERSON, "line 2", "a login name"),
    Leak(LeakKind.RAW_RECORDS, "line 9", "rows of a table", records=5),
)


@pytest.mark.parametrize(("kind", "expected"), [("any", 2), ("raw-records", 1), ("path", 0)])
def test_side_leaks_are_counted_by_kind(kind, expected):
    call = MeasureCall("side_leaks", (("kind", kind),))
    assert audited(TWO, call, leaks=LEAKS)[1].reading == Interval(expected, expected)


def test_side_leaks_stand_with_their_place_those_of_most_people_first():
    call = MeasureCall("side_leaks", (("kind", "any"),))
    spots = audited(TWO, call, leaks=LEAKS)[1].spots
    assert [(spot.kind, spot.index, spot.note) for spot in spots] == [
        ("file", 1, "rows of a table"),
        ("file", 0, "a login name"),
    ]


EXPOSED = MeasureCall("exposed_values")
NUMBERS = [float(n) for n in (10, 12, 11, 13, 20, 21, 22, 23, 24, 99)]
NUMBER_TABLE = table_of({"age": AGES, "sex": SEX, "flu": NUMBERS})


def exposed(ensemble, table=NUMBER_TABLE, sensitive="flu", leaks=()):
    return audited(ensemble, EXPOSED, table, sensitive, leaks)[1]


def test_the_mean_of_one_record_is_its_value():
    taken = exposed(forest(stump(70.0, 17.3, 99.0)))
    assert taken.reading == Interval(1, 1)
    assert (taken.spots[0].index, taken.spots[0].note) == (
        2,
        "one record, and the leaf shows its value",
    )


def test_a_tree_of_its_own_tells_the_value_of_who_is_alone_in_a_leaf_or_in_the_whole_table():
    tree = stump(70.0, 17.3, 99.0)
    assert exposed(tree).reading == Interval(1, 1)
    root = replace(tree, nodes=(replace(tree.root, children=(), score=12.0),))
    alone = table_of({"age": AGES[1:2], "sex": SEX[1:2], "flu": NUMBERS[1:2]})
    assert exposed(root, alone).reading == Interval(1, 1)


def test_nobody_who_shares_a_leaf_is_exposed():
    assert exposed(forest(stump(40.0, 11.5, 34.8))).reading == Interval(0, 0)


def test_without_the_targets_it_stays_open_how_many_values_are_said():
    assert exposed(forest(stump(70.0, 17.3, 99.0)), sensitive=None).reading == Interval(0, 1)


def boosted(first, second, **changes):
    trees = (stump(40.0, *first), stump(70.0, *second))
    said = {"combination": Combination.SUM, "base": (20.0,), **changes}
    return forest(*trees, **said)


def test_a_boosted_tree_without_shrinkage_says_what_the_others_left_over():
    assert exposed(boosted((-8.5, 14.8), (-7.2, 64.2))).reading == Interval(1, 1)


def test_a_boosted_tree_with_unknown_shrinkage_leaves_it_open():
    taken = exposed(boosted((-8.5, 14.8), (-7.2, 32.1)))
    assert taken.reading == Interval(0, 1)
    assert "does not contain its value" in taken.spots[0].note


@pytest.mark.parametrize(("value", "low"), [(0.4, 1), (-0.4, 0)])
def test_the_sign_of_a_boosted_leaf_tells_one_persons_class(value, low):
    ensemble = boosted(
        (-0.1, 0.1), (-0.1, value), base=(0.0,), classes=("no", "yes"),
        task=TWO.task, link=Link.LOGISTIC,
    )  # fmt: skip
    assert exposed(ensemble, TABLE).reading == Interval(low, 1)


def test_the_number_of_a_leaf_that_is_averaged_tells_nobodys_class():
    ensemble = boosted(
        (0.1, 0.2), (0.1, 0.4), base=(), classes=("no", "yes"),
        task=TWO.task, combination=Combination.AVERAGE,
    )  # fmt: skip
    assert exposed(ensemble, TABLE).reading == Interval(0, 1)


def test_sums_over_two_records_count_as_read_off_but_not_counts_of_classes():
    sums = Leak(LeakKind.TARGET_STATISTICS, "data/part-0", "sums of 2 targets", records=2)
    assert exposed(forest(stump(40.0, 11.5, 34.8)), leaks=(sums,)).reading == Interval(2, 2)
    counts = forest(stump(40.0, "no", "yes"))
    assert exposed(counts, TABLE, leaks=(sums,)).reading == Interval(0, 0)


def test_measuring_is_the_same_for_one_tree_and_for_the_ensemble_of_it():
    tree = stump(70.0, "no", "yes")
    people = build_population(tree, TABLE, sensitive="flu")
    audit = run(tree, people, Knowledge(), [EXPOSED, K])
    of_one = audited(forest(tree), EXPOSED)[1].reading, audited(forest(tree), K)[1].reading
    assert (audit.full.readings[EXPOSED].reading, audit.full.readings[K].reading) == of_one
    assert np.array_equal(audit.full.evidence.stops[0], people.leaf)


def test_trees_of_numbers_that_make_a_classifier_lack_the_truth_where_the_table_does():
    numbers = [replace(tree, task=Task.REGRESSION, classes=()) for tree in TWO.trees]
    boosted = with_trees(TWO, iter(numbers))
    _, taken = audited(boosted, MeasureCall("distinct_diversity"), sensitive=None)
    assert taken.reading == Undetermined(LACKS_TARGET.format(target="flu"))
