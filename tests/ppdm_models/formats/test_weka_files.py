"""Trees that Weka prints: each record of the training data stops where Weka counted it."""

import csv

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.rare._weka import matrix_of
from treewarden.ppdm_models.formats.rare.graphviz_dot import FORMAT as DOT
from treewarden.ppdm_models.formats.rare.weka_text import FORMAT as WEKA
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Task

DATA = places.DATA
PRINTED = ["j48", "j48_binary", "reptree", "randomtree"]
VALUES = {"slot": ("12: 30", "9 <= 10", "late 'x'"), "smoker": ("yes", "no")}


def visits():
    text = (DATA / "weka_visits.arff").read_text(encoding="utf-8").replace("\\'", "'")
    rows = list(csv.reader(text.partition("@data\n")[2].splitlines()))
    columns = {"age at visit": NumericColumn(np.array([float(row[0]) for row in rows]))}
    for place, (name, values) in enumerate(VALUES.items(), start=1):
        codes = np.array([values.index(row[place]) for row in rows])
        columns[name] = CategoricalColumn(codes=codes, categories=values)
    return columns, [row[3] for row in rows]


COLUMNS, OUTCOMES = visits()


def read(name):
    return WEKA.open(
        (DATA / "formats/weka_text/good" / f"{name}.txt").read_bytes(), f"{name}.txt"
    ).model


@pytest.mark.parametrize("name", PRINTED)
def test_the_predictions_give_the_confusion_matrix_that_weka_printed(name):
    tree = read(name)
    text = (DATA / "formats/weka_text/good" / f"{name}.txt").read_text(encoding="utf-8")
    said = labels(tree, predict(tree, COLUMNS))
    mine = [
        [
            sum(a == truth and b == answer for a, b in zip(OUTCOMES, said, strict=True))
            for answer in tree.classes
        ]
        for truth in tree.classes
    ]
    printed = [
        list(map(int, line.split("|")[0].split()))
        for line in text.splitlines()
        if " = " in line and line.count("|") == 1 and line.strip()[0].isdigit()
    ]
    assert mine == printed
    assert matrix_of(text.splitlines()).classes == tree.classes


@pytest.mark.parametrize("name", PRINTED)
def test_the_sizes_and_counts_of_leaves_are_those_of_the_records(name):
    tree = read(name)
    stops = route(tree, COLUMNS)
    assert tree.quality is Quality.EXACT
    for leaf in tree.leaves:
        here = [truth for truth, stop in zip(OUTCOMES, stops, strict=True) if stop == leaf.index]
        assert leaf.records == len(here)
        listed = zip(tree.classes, leaf.class_counts, strict=True)
        assert all(count in (None, here.count(label)) for label, count in listed)


def test_a_drawing_of_j48_is_the_printed_tree():
    drawn = DOT.open((DATA / "formats/graphviz_dot/good/j48.dot").read_bytes(), "j48.dot").model
    printed = read("j48")
    assert [node.test for node in drawn.nodes] == [node.test for node in printed.nodes]
    assert [node.records for node in drawn.nodes] == [node.records for node in printed.nodes]


HEADER = "J48 pruned tree\n------------------\n\n"


def test_a_label_that_can_be_read_in_two_ways_is_not_guessed():
    text = HEADER + "slot = 12: 30: yes (3.0)\nslot = 9: 15: no (2.0)\n"
    with pytest.raises(TreeFormatError, match="in several ways"):
        WEKA.open(text.encode(), "t")


def test_an_empty_branch_holds_nobody():
    tree = WEKA.open(
        (HEADER + "a = x: yes (3.0)\na = y: yes (0.0)\na = z: no (2.0/1.0)\n").encode(), "t"
    ).model
    assert [leaf.records for leaf in tree.leaves] == [3, 0, 2]
    assert any("have no training record" in note for note in tree.notes)


def test_errors_are_of_unknown_classes_where_none_are_listed():
    tree = WEKA.open((HEADER + "a = x: yes (3.0/1.0)\na = y: no (2.0)\n").encode(), "t").model
    assert [leaf.class_counts for leaf in tree.leaves] == [(2.0, None), (0.0, 2.0)]


def test_fractions_of_records_are_weights():
    tree = WEKA.open((HEADER + "a <= 1: yes (3.5/1.0)\na > 1: no (2.5)\n").encode(), "t").model
    assert tree.quality is Quality.WEIGHTED


def test_a_tree_that_is_one_leaf_is_read():
    tree = WEKA.open((HEADER + ": yes (14.0/5.0)\n").encode(), "t").model
    assert (len(tree.nodes), tree.root.score, tree.root.records) == (1, "yes", 14.0)


def test_a_leaf_of_id3_that_no_record_reached_has_no_label():
    tree = WEKA.open(b"Id3\n\n\na = x: yes\na = y: null\n", "t").model
    assert [leaf.score for leaf in tree.leaves] == ["yes", None]


def test_a_regression_of_reptree_is_one_of_numbers():
    text = "REPTree\n============\n\na < 3.5 : 12.5 (10/3.2) [5/2.2]\na >= 3.5 : 7 (4/0) [2/1]\n"
    tree = WEKA.open((text + "\nCorrelation coefficient 0.9\n").encode(), "t").model
    assert tree.task is Task.REGRESSION
    assert [(leaf.score, leaf.records) for leaf in tree.leaves] == [(12.5, 15), (7, 6)]


def test_numbers_that_may_be_classes_are_not_guessed():
    text = "REPTree\n============\n\na < 3.5 : 12 (10/3) [5/2]\na >= 3.5 : 7 (4/0) [2/1]\n"
    with pytest.raises(TreeFormatError, match="classes or numbers"):
        WEKA.open(text.encode(), "t")


def test_what_stands_around_the_tree_is_a_leak():
    text = "Scheme: weka.classifiers.trees.J48 -C 0.25 -M 2\nRelation:     clinic-2024\nInstances:    5\n\n"
    found = WEKA.open((text + HEADER + "a <= 1: yes (3.0)\na > 1: no (2.0)\n").encode(), "t").leaks
    assert [leak.kind for leak in found] == [
        LeakKind.REPLAY,
        LeakKind.IDENTIFIER,
        LeakKind.DIFFERENCING,
        LeakKind.UNKNOWN,
    ]
