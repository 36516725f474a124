"""What XGBoost's leaf values say of their people's labels, held against the tables that models were trained on."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.grown_models import FOLDER, case_of, sums_of, truth
from treewarden.audit.inverters import LeafSums, leaf_sums
from treewarden.audit.inverters._bounds import exactly
from treewarden.audit.inverters._rounds import derivatives, rounds
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import opened, read
from treewarden.ppdm_models.tree.ensemble import FactSource, stated_fact


def edited(tmp_path, name, change):
    """Return a copy of a model in which every tree was changed."""
    document = json.loads((FOLDER / f"{name}.json").read_bytes())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        change(tree)
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("name", "table"),
    [("plain", "two"), ("exact", "two"), ("three", "three")],
)
def test_every_leaf_is_turned_back_exactly(name, table):
    sums, true = sums_of(name, table)
    assert (sums.low == true).all()
    assert (sums.high == true).all()
    assert sums.wide.max() < 1e-3


def test_the_sums_of_the_worked_example_are_those_computed_by_hand():
    growth = opened(FOLDER / "by_hand.json").model.growth
    values = [tree.values[1:].tolist() for tree in growth.trees]
    assert values[0] == pytest.approx([0, 0.2], abs=1e-7)
    assert values[1] == pytest.approx([0, 0.18066463], abs=1e-7)
    case, _ = case_of(FOLDER / "by_hand.json", FOLDER / "by_hand.csv")
    rates = {"eta": 0.3, "lambda": 1, "alpha": 0, "max_delta_step": 0}
    facts = {name: stated_fact(rate) for name, rate in rates.items()}
    sums = leaf_sums(replace(case, growth=replace(growth, facts=facts)))
    assert sums.low.tolist() == sums.high.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("name", "rates"),
    [("plain", (0.3, 1, 0)), ("exact", (0.07, 2.5, 0)), ("lasso", (0.3, 1, 0.5))],
)
def test_rates_that_the_file_withholds_follow_from_its_numbers(name, rates):
    sums, _ = sums_of(name)
    found = [sums.facts[each] for each in ("eta", "lambda", "alpha")]
    assert [fact.value for fact in found] == pytest.approx(rates)
    assert {fact.source for fact in found} == {FactSource.DERIVED}


@pytest.mark.parametrize("name", ["lasso", "second_weighs_more"])
def test_where_sums_are_not_exact_they_are_bounded(name):
    sums, true = sums_of(name)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert (sums.low < sums.high).any()
    assert (sums.low == sums.high).any()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sampled", "on a sample of it"),
        ("weighed", "with weights"),
        ("dart", "dropped"),
        ("side_by_side", "in parallel"),
        ("hinge", "binary:hinge"),
        ("continued", "learning rate"),
        ("clipped", "learning rate"),
    ],
)
def test_what_cannot_be_turned_back_says_why(name, reason):
    found, _ = sums_of(name)
    assert isinstance(found, Undetermined)
    assert reason in found.reason


def lines():
    return (FOLDER / "two.csv").read_text().splitlines()


def test_another_table_is_noticed(tmp_path):
    header, *rows = lines()
    first = rows[0].split(",")
    changed = ",".join([*first[:1], str(99 - int(first[1])), *first[2:]])
    for name, others in {"one_less": rows[1:], "one_changed": [changed, *rows[1:]]}.items():
        table = tmp_path / f"{name}.csv"
        table.write_text("\n".join([header, *others]) + "\n")
        found = leaf_sums(case_of(FOLDER / "plain.json", table)[0])
        assert isinstance(found, Undetermined)
        assert "another table" in found.reason


def test_the_order_of_records_does_not_matter(tmp_path):
    header, *rows = lines()
    table = tmp_path / "turned.csv"
    table.write_text("\n".join([header, *reversed(rows)]) + "\n")
    case, people = case_of(FOLDER / "plain.json", table)
    sums = leaf_sums(case)
    assert (sums.low == truth(case, people, sums)).all()


def test_a_changed_leaf_is_noticed(tmp_path):
    def change(tree):
        leaf = tree["left_children"].index(-1)
        tree["split_conditions"][leaf] += 0.01

    path = edited(tmp_path, "plain", change)
    assert isinstance(leaf_sums(case_of(path, FOLDER / "two.csv")[0]), Undetermined)


def cut(number, digits):
    """Return a number with so many binary digits after its leading one."""
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.round(mantissa * 2 ** (digits + 1)) / 2 ** (digits + 1), exponent))


@pytest.mark.parametrize("digits", [1, 2, 4, 8, 12])
def test_cut_leaf_values_give_bounds_that_hold(tmp_path, digits):
    def change(tree):
        values = tree["split_conditions"]
        for node, child in enumerate(tree["left_children"]):
            if child < 0:
                values[node] = cut(values[node], digits)
        for name in ("sum_hessian", "loss_changes", "base_weights"):
            tree[name] = [0.0] * len(values)

    path = edited(tmp_path, "plain", change)
    case, people = case_of(path, FOLDER / "two.csv")
    assert isinstance(leaf_sums(case), Undetermined)  # the rates no longer follow from the file
    sums = leaf_sums(knowing(case, case_of(FOLDER / "plain.json", FOLDER / "two.csv")[0]))
    assert isinstance(sums, LeafSums)
    true = truth(case, people, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert (sums.low < sums.high).any() == (digits < 2)


def test_cut_leaf_values_pass_nothing_by_settings_that_were_taken_or_from_few_leaves(tmp_path):
    def change(tree):
        values = tree["split_conditions"]
        for node, child in enumerate(tree["left_children"]):
            if child < 0:
                values[node] = cut(values[node], 4)
        for name in ("sum_hessian", "loss_changes", "base_weights"):
            tree[name] = [0.0] * len(values)

    case, _ = case_of(edited(tmp_path, "plain", change), FOLDER / "two.csv")
    case = knowing(case, case_of(FOLDER / "plain.json", FOLDER / "two.csv")[0])
    assert leaf_sums(case).is_complete
    facts = {
        name: replace(fact, source=FactSource.TAKEN) for name, fact in case.growth.facts.items()
    }
    taken = leaf_sums(replace(case, growth=replace(case.growth, facts=facts)))
    assert not taken.is_complete
    assert "[training]" in taken.missing
    first = replace(case.growth, rounds=case.growth.rounds[:1])
    few = leaf_sums(replace(case, growth=first))
    assert not few.is_complete
    assert "how far they were rounded" in few.missing


@pytest.mark.parametrize("kept", ["sum_hessian", "loss_changes", "base_weights"])
def test_cut_leaf_values_are_not_believed_while_other_numbers_give_the_digits_back(tmp_path, kept):
    def change(tree):
        values = tree["split_conditions"]
        for node, child in enumerate(tree["left_children"]):
            if child < 0:
                values[node] = cut(values[node], 2)
        for name in {"sum_hessian", "loss_changes", "base_weights"} - {kept}:
            tree[name] = [0.0] * len(values)

    case, _ = case_of(edited(tmp_path, "plain", change), FOLDER / "two.csv")
    found = leaf_sums(knowing(case, case_of(FOLDER / "plain.json", FOLDER / "two.csv")[0]))
    assert isinstance(found, Undetermined)
    assert "remove them too" in found.reason


def knowing(case, whole):
    """Return the case of a changed file for who knows the rates of the whole one, and that all records were seen."""
    facts = {**leaf_sums(whole).facts, "subsample": stated_fact(1.0)}
    return replace(case, growth=replace(case.growth, facts=facts))


def test_a_table_without_labels_is_enough(tmp_path):
    rows = [line.rpartition(",")[0] for line in lines()]
    table = tmp_path / "bare.csv"
    table.write_text("\n".join(rows) + "\n")
    case, _ = case_of(FOLDER / "plain.json", table, sensitive=None)
    sums, true = sums_of("plain")
    found = leaf_sums(case)
    assert sorted(found.low.tolist()) == sorted(true.tolist())
    assert read(table).rows == 60


def test_who_weighs_more_is_counted_by_both_sums():
    case, people = case_of(FOLDER / "second_weighs_more.json", FOLDER / "two.csv")
    sums = leaf_sums(case)
    true = truth(case, people, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert (sums.high - sums.low).mean() < 0.7
    assert (sums.low == sums.high).mean() > 0.6
    assert len(sums.added) == 2 * len(case.trees)
    for each in sums.added:
        found = np.bincount(each.place, each.each * people.truth[:, 1], len(each.nodes))
        assert ((each.low <= found) & (found <= each.high)).all()


@pytest.mark.parametrize("name", ["plain", "exact", "three"])
def test_scores_that_are_added_up_in_32_bits_lie_within_narrow_ends(name):
    table = "three" if name == "three" else "two"
    case, _ = case_of(FOLDER / f"{name}.json", FOLDER / f"{table}.csv")
    start = np.asarray(case.growth.start)
    ends = exactly(start).wider(1e-6)
    base = np.float32(start + 5e-7)
    scores = np.tile(base, (len(case.people), 1))
    narrow = list(rounds(replace(case, in_order=True), ends))
    for (own, leaves), (wide, _) in zip(narrow, rounds(case, ends), strict=True):
        assert (own.low <= scores).all()
        assert (scores <= own.high).all()
        assert ((own.high - own.low) <= (wide.high - wide.low) + 1e-6).all()
        for leaf in leaves:
            values = case.growth.trees[leaf.tree].values
            added = values.reshape(len(values), -1)[leaf.nodes[leaf.place], 0]
            scores[:, leaf.output] = scores[:, leaf.output] + added.astype(np.float32)


@given(st.lists(st.floats(2.0**-9, 1.0, width=32), min_size=1, max_size=200), st.randoms())
def test_sums_in_64_bits_of_numbers_in_32_are_exact_in_any_order(numbers, order):
    shares = np.array(numbers) / 2
    known = derivatives(exactly(shares), np.array([0.0, 1.0]), 1.0, 2.0**-22, single=True)
    assert known.sum_rounding(len(numbers)) < 1e-13
    exact = sum(Fraction(number) for number in numbers)
    order.shuffle(numbers)
    total = 0.0
    for number in numbers:
        total += number
    assert Fraction(total) == exact
    half = sum(numbers[::2])
    assert Fraction(total - half) == exact - sum(Fraction(number) for number in numbers[::2])


def test_sums_of_numbers_that_are_too_small_may_be_off():
    known = derivatives(exactly(np.full(3, 1e-9)), np.zeros(2), 1.0, 2.0**-22, single=True)
    assert known.sum_rounding(1e6) > 1e-5
