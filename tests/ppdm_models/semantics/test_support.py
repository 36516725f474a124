"""Whether published numbers are people: each producer's way of writing them, and numbers that do not add up."""

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tree.tree import Quality

DATA = places.DATA / "formats"
TESTS = ['operator="lessThan" value="3"', 'operator="greaterOrEqual" value="3"']


def node(records, *distribution, children=(), test="<True/>", name="?"):
    size = "" if records is None else f' recordCount="{records}"'
    items = "".join(
        f'<ScoreDistribution value="{label}"{numbers}/>'
        for label, numbers in zip("ab", distribution, strict=False)
        if numbers is not None
    )
    return f'\n<Node id="{name}" score="a"{size}>{test}{items}{"".join(children)}</Node>'


def count(number, share=None):
    return f' recordCount="{number}"' + ("" if share is None else f' probability="{share}"')


def share(number):
    return f' recordCount="0" probability="{number}"'


def tree_of(root, left, right, attributes="", function="classification"):
    below = [
        node(*numbers, test=f'<SimplePredicate field="x" {test}/>', name=name)
        for numbers, test, name in zip((left, right), TESTS, ("left", "right"), strict=True)
    ]
    data = (
        '<PMML><DataDictionary><DataField name="x" optype="continuous" dataType="double"/><DataField name="y" '
        'optype="categorical" dataType="string"><Value value="a"/><Value value="b"/></DataField></DataDictionary>'
        f'<TreeModel functionName="{function}" {attributes}><MiningSchema><MiningField name="x"/><MiningField name="y" '
        f'usageType="target"/></MiningSchema>{node(*root, children=below, name="root")}</TreeModel></PMML>'
    )
    return load_tree(data.encode(), "x.pmml")


def counts_of(tree):
    return [published.class_counts for published in tree.nodes]


def test_whole_numbers_that_add_up_are_exact():
    tree = tree_of((10, count(6), count(4)), (7, count(6), count(1)), (3, count(0), count(3)))
    assert (tree.quality, counts_of(tree), tree.notes) == (
        Quality.EXACT,
        [(6, 4), (6, 1), (0, 3)],
        (),
    )


def test_no_numbers_are_absent():
    tree = tree_of((None,), (None,), (None,))
    assert (tree.quality, counts_of(tree)) == (Quality.ABSENT, [None, None, None])


def test_one_record_per_leaf_with_fractions_is_normalised():
    tree = tree_of((None,), (1, count(0.8), count(0.2)), (1, count(0), count(1)))
    assert tree.quality is Quality.NORMALISED
    assert [leaf.class_shares for leaf in tree.leaves] == [(0.8, 0.2), (0.0, 1.0)]
    assert [(leaf.records, leaf.class_counts) for leaf in tree.leaves] == [
        (None, None),
        (None, None),
    ]
    assert "every leaf says 1 record, so its numbers are shares" in tree.notes[0]


def test_one_record_per_leaf_without_inner_counts_is_normalised_even_if_pure():
    tree = tree_of((None,), (1, count(1), count(0)), (1, count(0), count(1)))
    assert (tree.quality, tree.leaves[0].class_shares) == (Quality.NORMALISED, (1.0, 0.0))


def test_one_record_per_leaf_that_adds_up_to_the_root_is_exact():
    tree = tree_of((2, count(1), count(1)), (1, count(1), count(0)), (1, count(0), count(1)))
    assert (tree.quality, tree.leaves[0].class_counts) == (Quality.EXACT, (1.0, 0.0))


def test_repeated_totals_are_multiplied_by_the_probability():
    tree = tree_of(
        (None, count(10, 0.6), count(10, 0.4)),
        (None, count(7, 0.857142857142857), count(7, 0.142857142857143)),
        (None, count(3, 0), count(3, 1)),
    )
    assert (tree.quality, counts_of(tree)) == (Quality.DERIVED, [(6, 4), (6, 1), (0, 3)])
    assert [published.records for published in tree.nodes] == [10, 7, 3]


def test_equal_counts_with_their_own_shares_are_no_repeated_totals():
    tree = tree_of(*((None, count(number, 0.5), count(number, 0.5)) for number in (4, 3, 1)))
    assert (tree.quality, counts_of(tree)) == (Quality.EXACT, [(4, 4), (3, 3), (1, 1)])


def test_pure_leaves_that_list_one_class_repeat_no_total():
    halves = (None, count(5, 0.5), count(5, 0.5))
    tree = tree_of(halves, (None, count(5, 1), None), (None, None, count(5, 1)))
    assert (tree.quality, counts_of(tree)) == (Quality.DERIVED, [(5, 5), (5, 0), (0, 5)])


def test_inner_nodes_of_no_records_are_believed_by_their_classes():
    tree = tree_of((0, count(6), count(4)), (7, count(6), count(1)), (3, count(0), count(3)))
    assert (tree.quality, tree.root.records) == (Quality.EXACT, 10)
    assert "the node states 0 records, but its classes have some" in tree.notes[0]


def test_fractional_counts_are_weights():
    tree = tree_of(
        (10, count(6.5), count(3.5)), (7, count(6.5), count(0.5)), (3, count(0), count(3))
    )
    assert tree.quality is Quality.WEIGHTED


@pytest.mark.parametrize(
    ("root", "left", "said"),
    [
        ((12, count(8), count(4)), (7, count(6), count(1)), "12 records, but its children hold 10"),
        ((9, count(5), count(4)), (7, count(6), count(1)), "9 records, but its children hold 10"),
        ((10, count(6), count(3)), (7, count(6), count(1)), "10 records, but its classes sum to 9"),
        (
            (10, count(6), count(5)),
            (7, count(6), count(1)),
            "10 records, but its classes sum to 11",
        ),
        (
            (10, count(7), count(3)),
            (7, count(6), count(1)),
            "7 records of 'a', but its children hold 6",
        ),
    ],
)
def test_numbers_that_contradict_each_other_are_inconsistent(root, left, said):
    tree = tree_of(root, left, (3, count(0), count(3)))
    assert tree.quality is Quality.INCONSISTENT
    assert tree.notes == (f"x.pmml:2: node 'root': holds {said}",)


def test_records_without_a_value_may_stay_at_a_parent_that_predicts_for_them():
    numbers = ((12, count(8), count(4)), (7, count(6), count(1)), (3, count(0), count(3)))
    assert (
        tree_of(*numbers, attributes='missingValueStrategy="lastPrediction"').quality
        is Quality.EXACT
    )


def test_children_never_hold_more_than_their_parent():
    numbers = ((9, count(5), count(4)), (7, count(6), count(1)), (3, count(0), count(3)))
    tree = tree_of(*numbers, attributes='missingValueStrategy="lastPrediction"')
    assert tree.quality is Quality.INCONSISTENT


def test_a_class_that_is_not_listed_is_found_by_subtraction():
    tree = tree_of((10, count(6), None), (7, count(6), None), (3, count(0), count(3)))
    assert counts_of(tree) == [(6, 4), (6, 1), (0, 3)]


@pytest.mark.parametrize(
    ("left", "counts"),
    [((None, None, None), (6, 1)), ((7, None, None), (6, 1)), ((None, count(6), None), (6, 1))],
)
def test_a_leaf_that_is_left_out_is_its_parent_less_its_sibling(left, counts):
    tree = tree_of((10, count(6), count(4)), left, (3, count(0), count(3)))
    assert (tree.quality, tree.nodes[1].records, tree.nodes[1].class_counts) == (
        Quality.DERIVED,
        7,
        counts,
    )
    assert (
        "node 'left': its count is left out, but is its parent's less its siblings'"
        in tree.notes[0]
    )


def test_two_leaves_that_are_left_out_stay_unknown():
    tree = tree_of((10, count(6), count(4)), (None,), (None,))
    assert (tree.quality, counts_of(tree)[1:]) == (Quality.EXACT, [None, None])


def test_a_leaf_is_not_found_by_subtraction_where_records_may_stay_above_it():
    tree = tree_of(
        (10, count(6), count(4)),
        (None,),
        (3, count(0), count(3)),
        attributes='missingValueStrategy="lastPrediction"',
    )
    assert (tree.quality, tree.nodes[1].records) == (Quality.EXACT, None)


def test_a_leaf_is_not_found_by_subtraction_where_the_numbers_contradict_each_other():
    tree = tree_of((2, count(1), count(1)), (None,), (3, count(0), count(3)))
    assert (tree.quality, tree.nodes[1].records) == (Quality.INCONSISTENT, None)


def test_classes_that_sum_to_more_than_the_distinct_records_are_draws():
    tree = tree_of((6, count(6), count(4)), (4, count(6), count(1)), (2, count(0), count(3)))
    assert tree.quality is Quality.WEIGHTED
    assert "they are draws, not people" in tree.notes[0]


def test_a_class_that_is_not_listed_stays_unknown_without_a_total():
    assert counts_of(tree_of((None, count(6), None), (None,), (None,)))[0] == (6, None)


def test_a_total_and_shares_give_the_counts():
    tree = tree_of(
        (10, ' probability="0.6"', ' probability="0.4"'),
        (7, ' probability="0.857"', ' probability="0.143"'),
        (3, ' probability="0"', ' probability="1"'),
    )
    assert (tree.quality, counts_of(tree)) == (Quality.DERIVED, [(6, 4), (6, 1), (0, 3)])


def test_a_total_that_one_class_lacks_is_still_no_count():
    tree = tree_of(
        (None, ' probability="0.6"', count(10, 0.4)),
        (None, count(7, 0.857142857142857), count(7, 0.142857142857143)),
        (None, count(3, 0), count(3, 1)),
    )
    assert (tree.quality, counts_of(tree)) == (Quality.DERIVED, [(6, 4), (6, 1), (0, 3)])


def test_a_count_that_one_class_lacks_follows_from_the_shares():
    tree = tree_of((None, ' probability="0.6"', count(4, 0.4)), (7, count(6), count(1)), (None,))
    assert (tree.quality, counts_of(tree)[0]) == (Quality.DERIVED, (6, 4))


def test_shares_that_do_not_fit_the_counts_are_inconsistent():
    tree = tree_of((None, ' probability="0.65"', count(4, 0.35)), (None,), (None,))
    assert (tree.quality, tree.root.class_shares) == (Quality.INCONSISTENT, None)
    assert "its probabilities do not fit its counts" in tree.notes[0]


def test_shares_that_give_no_whole_numbers_stay_shares():
    tree = tree_of(
        (10, ' probability="0.65"', ' probability="0.35"'),
        (7, ' probability="0.9"', ' probability="0.1"'),
        (3, ' probability="0"', ' probability="1"'),
    )
    assert (tree.quality, tree.leaves[0].class_counts, tree.leaves[0].class_shares) == (
        Quality.EXACT,
        None,
        (0.9, 0.1),
    )


def test_shares_alone_are_normalised():
    tree = tree_of((None,), (None, ' confidence="0.9"', ' confidence="0.1"'), (None,))
    assert (tree.quality, tree.leaves[0].class_shares) == (Quality.NORMALISED, (0.9, 0.1))


def test_json_that_claims_people_and_does_not_add_up_is_inconsistent():
    text = (DATA / "treewarden_json/good/golf.json").read_text(encoding="utf-8")
    tree = load_tree(text.replace('"records": 14', '"records": 15').encode(), "golf.json")
    assert (tree.quality, tree.notes[0]) == (
        Quality.INCONSISTENT,
        "golf.json:30: node '1': holds 15 records, but its classes sum to 14",
    )


def test_our_own_word_for_the_quality_does_not_turn_weights_into_people():
    extension = '<Extension name="treewarden:quality" value="exact"/>'
    text = (DATA / "pmml/good/golf.pmml").read_text(encoding="utf-8")
    own = text.replace("<MiningSchema>", f"{extension}<MiningSchema>")
    assert load_tree(own.encode(), "x").quality is Quality.EXACT
    weighted = own.replace('recordCount="4"', 'recordCount="4.5"')
    assert load_tree(weighted.encode(), "x").quality is Quality.WEIGHTED
    wrong = own.replace('recordCount="14"', 'recordCount="15"')
    assert load_tree(wrong.encode(), "x").quality is Quality.INCONSISTENT


@pytest.mark.parametrize(
    "distribution", [(), (count(0), count(0)), (share(0.75), share(0.25)), (count(0), None)]
)
def test_nodes_that_all_say_0_records_do_not_tell_their_counts(distribution):
    tree = tree_of((0, *distribution), (0, *distribution), (0, *distribution))
    is_share = distribution == (share(0.75), share(0.25))
    assert tree.quality is (Quality.NORMALISED if is_share else Quality.ABSENT)
    assert {published.records for published in tree.nodes} == {None}
    assert counts_of(tree) == [None, None, None]
    assert tree.learner.claims_privacy
    assert "0 records, so there are no counts" in tree.notes[0]


def test_one_leaf_of_nobody_is_a_leaf_of_nobody():
    tree = tree_of((5, count(3), count(2)), (5, count(3), count(2)), (0, count(0), count(0)))
    assert (tree.quality, tree.nodes[2].records, tree.learner.claims_privacy) == (
        Quality.EXACT,
        0,
        False,
    )
