"""Features under other names: the same trees, every test among them, and nothing that two names could mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError, TreewardenError
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of
from treewarden.ppdm_models.tree.nodes import LearnerFigures, OtherSplit
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, features_of
from treewarden.ppdm_models.tree.rename_columns import known_names, rename_columns

GROWN = places.DATA / "grown"


def smallest_models():
    """Yield the smallest models of each format."""
    for folder in sorted((places.DATA / "formats").iterdir()):
        files = [file for file in (folder / "good").glob("*") if file.is_file()]
        for file in sorted(files, key=lambda each: each.stat().st_size)[:3]:
            try:
                yield read_model(file)
            except TreewardenError:
                continue


def names_in(model):
    """Return all names that tests of a model ask for, also those of splits that were not taken."""
    for tree in trees_of(model):
        for node in tree.nodes:
            splits = node.figures.other_splits
            tests = [node.test, *(test for split in splits for test in (split.left, split.right))]
            yield from (name for test in tests for name in features_of(test))
    for member in model.members if isinstance(model, Ensemble) else ():
        yield from features_of(member.test)


def test_models_of_each_format_are_the_same_but_for_the_names():
    read = 0
    for model in smallest_models():
        names = {feature.name: f"the {feature.name}" for feature in model.features}
        renamed = rename_columns(model, names)
        assert {feature.name for feature in renamed.features} == set(names.values())
        assert [names.get(name, name) for name in names_in(model)] == list(names_in(renamed))
        assert rename_columns(renamed, {new: old for old, new in names.items()}) == model
        read += 1
    assert read > 20


def test_two_features_may_change_places():
    model = read_model(GROWN / "plain.json")
    renamed = rename_columns(model, {"age": "income", "income": "age"})
    swapped = {"age": "income", "income": "age"}
    assert [swapped.get(name, name) for name in names_in(model)] == list(names_in(renamed))
    assert renamed.growth is model.growth
    assert renamed.source == model.source


def test_splits_that_were_not_taken_are_renamed():
    (tree, *_) = trees_of(read_model(GROWN / "plain.json"))
    split = OtherSplit(NumericTest("age", high=3), CategoryTest("age", ("a",)), 0, 1)
    first, *others = tree.nodes
    first = replace(first, figures=LearnerFigures((split,)))
    renamed = rename_columns(replace(tree, nodes=(first, *others)), {"age": "years"})
    assert "age" not in set(names_in(renamed))
    assert "years" in set(names_in(renamed))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ({"agee": "x"}, "plain.json: no feature 'agee' .did you mean 'age'.*'age', 'income'"),
        ({"age": "income"}, "'age' and 'income' would both be the column 'income'; map each"),
        ({"age": "x", "income": "x"}, "would both be the column 'x'"),
        ({"age": "y"}, "the feature 'age' would be the target 'y'; map it"),
    ],
)
def test_names_that_cannot_be_are_refused(names, problem):
    model = replace(read_model(GROWN / "plain.json"), target="y")
    with pytest.raises(TreeFormatError, match=problem):
        rename_columns(model, names)


def test_of_an_earlier_release_those_names_count_that_it_has():
    model = read_model(GROWN / "plain.json")
    assert known_names(model, {"age": "years", "town": "place"}) == {"age": "years"}
