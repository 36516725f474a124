"""What a description says: whose numbers are people, which are draws, and what else leaks."""

from dataclasses import replace

import pytest

from tests.kit import places
from tests.kit.forests import forest, stump
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.semantics.consistency import producer
from treewarden.ppdm_models.semantics.describe import MOST_LEAVES, describe, leaf_entries
from treewarden.ppdm_models.tree.ensemble import Combination
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import NoTrueChild, Quality

DATA = places.DATA / "formats"
LEFT = stump(40.0, "no", "yes", counts=(3.0, 7.0))
RIGHT = stump(50.0, "yes", "no", counts=(9.0, 1.0))


def support(model):
    return describe(model)["support"]


def test_a_description_says_what_is_published():
    assert describe(read_tree(DATA / "pmml/good/golf.pmml")) == {
        "trees": 1,
        "nodes": 5,
        "leaves": 3,
        "depth": 2,
        "task": "classification",
        "target": "play",
        "classes": ["yes", "no"],
        "outputs": 1,
        "features": [
            {"name": "temperature", "type": "numeric", "tested": True, "values": 0},
            {"name": "outlook", "type": "categorical", "tested": True, "values": 3},
        ],
        "criterion": None,
        "support": {
            "quality": "exact",
            "reason": "the leaf counts sum to those of the nodes above",
            "counts_people": True,
            "records": 14.0,
            "smallest_leaf": 4.0,
            "smallest_published": 4.0,
            "empty_leaves": 0,
            "qualities": {"exact": 1},
        },
        "publishes": {
            "labels": 3,
            "sizes": 3,
            "rates": 3,
            "counts": 3,
            "inner_labels": 2,
            "impurities": 0,
            "unused": [],
        },
        "claim": None,
        "notes": [],
        "leaks": [],
    }


def test_an_ensemble_is_described_by_all_its_trees():
    said = describe(forest(LEFT, RIGHT, resampled=False))
    assert (said["trees"], said["nodes"], said["leaves"], said["depth"]) == (2, 6, 4, 1)
    assert (said["combination"], said["publishes"]["sizes"]) == ("majority-vote", 4)
    assert [member["smallest_published"] for member in said["members"]] == [3, 1]
    assert said["support"]["smallest_leaf"] == 1
    assert said["support"]["records"] == 10


@pytest.mark.parametrize("resampled", [True, None])
def test_draws_are_never_a_smallest_leaf(resampled):
    said = support(forest(LEFT, RIGHT, resampled=resampled))
    assert (said["counts_people"], said["smallest_leaf"], said["records"]) == (False, None, None)
    assert said["smallest_published"] == 1
    assert "draws" in said["reason"]


def test_the_worst_tree_decides_what_the_numbers_are_worth():
    bare = stump(30.0, "no", "yes")
    said = support(forest(LEFT, bare, resampled=False))
    assert (said["quality"], said["smallest_leaf"]) == ("absent", None)
    assert said["qualities"] == {"exact": 1, "absent": 1}


def test_shares_are_described_as_rates_and_never_as_a_smallest_leaf_of_one():
    tree = stump(30.0, "no", "yes", counts=(1.0, 1.0), quality=Quality.NORMALISED)
    said = describe(tree)
    assert said["support"]["smallest_leaf"] is None
    assert said["publishes"]["sizes"] == 0


def test_a_leaf_that_nobody_reached_is_no_smallest_leaf():
    said = support(stump(40.0, "no", "yes", counts=(0.0, 7.0)))
    assert (said["smallest_leaf"], said["empty_leaves"]) == (7, 1)


def test_a_leak_is_described_with_its_place():
    leak = Leak(LeakKind.PERSON, "line 2", "a login name", removable=True)
    assert describe(LEFT, [leak])["leaks"] == [
        {
            "kind": "person",
            "group": "people",
            "where": "line 2",
            "what": "a login name",
            "records": None,
            "removable": True,
        }
    ]


def test_leaves_are_listed_with_their_region_and_what_their_number_is():
    entries = list(leaf_entries(forest(LEFT, RIGHT, resampled=True)))
    assert [entry["region"] for entry in entries[:2]] == ["age < 40", "age ≥ 40"]
    assert [(entry["tree"], entry["says"], entry["quality"]) for entry in entries] == [
        (1, "no", "draws"),
        (1, "yes", "draws"),
        (2, "yes", "draws"),
        (2, "no", "draws"),
    ]


def test_where_a_node_predicts_for_the_rest_that_rest_is_listed():
    tree = stump(40.0, "no", "yes", no_true_child=NoTrueChild.LAST_PREDICTION)
    root, left, _ = tree.nodes
    rest = replace(tree, nodes=(replace(root, children=(1,), score="yes"), left))
    assert [entry["region"] for entry in leaf_entries(rest)] == [
        "all records, where no test below it holds",
        "age < 40",
    ]


def test_the_list_of_leaves_has_an_end():
    many = forest(*[LEFT] * (MOST_LEAVES // 2 + 1))
    assert len(list(leaf_entries(many))) == MOST_LEAVES


def test_how_scores_are_combined_is_said():
    assert (
        describe(forest(LEFT, combination=Combination.SELECT_FIRST))["combination"]
        == "select-first"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'<PMML><Header><Application version="1.4" name="Rattle/PMML"/>', "Rattle/PMML 1.4"),
        (b'<ns:Application name="KNIME"/>', "KNIME"),
        (b"<PMML/>", None),
        (b'<Application nickname="x"/>', None),
    ],
)
def test_the_producer_is_named_where_the_file_says_so(data, said):
    assert producer(data) == said
