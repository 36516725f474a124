"""The names of the product say what they stand for."""

from __future__ import annotations

import pytest

from tests.kit import language

ADVICE = "name it by its noun, or verb_object"


def test_no_module_class_function_or_argument_is_called_by_a_bare_word():
    assert language.bare_names() == {}, ADVICE


def test_no_class_name_stands_for_several_records():
    assert language.shared_class_names() == {}, "say in the name which record it is"


def test_names_without_a_meaning_are_at_most_a_seventh_of_all():
    names = [name for _, _, name in language.bound_names()]
    assert sum(map(language.is_empty, names)) / len(names) < 0.15


def test_a_population_has_few_names_where_functions_take_one():
    assert len(language.annotated_names("Population")) <= 8


@pytest.mark.parametrize(
    ("name", "is_empty"),
    [
        ("each", True),
        ("_said_of", True),
        ("Asked", True),
        ("leaf_of_record", False),
        ("LeftOut", True),
    ],
)
def test_a_name_is_empty_where_none_of_its_words_is_a_noun_of_the_field(name, is_empty):
    assert language.is_empty(name) is is_empty


def test_a_name_is_taken_apart_into_its_words():
    assert (
        language.words_of("LeafOfRecord")
        == language.words_of("leaf_of_record")
        == ["leaf", "of", "record"]
    )
    assert language.words_of("MAX_DEPTH") == ["max", "depth"]
