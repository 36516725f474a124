"""Values and weights of inner nodes follow from the leaves of a LightGBM file, or are told and can be taken out."""

from dataclasses import replace

import pytest

from tests.kit.grown_models import FOLDER
from tests.ppdm_models.formats.accounting import ALL
from treewarden.jobs.redacting import redact_file
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.side_channels import LeakKind

FOLLOW = ("lightgbm_two", "lightgbm_three", "lightgbm_eight", "lightgbm_ranking")
FOLLOW += ("numbers_lightgbm", "numbers_ridge", "numbers_roots", "numbers_bagged")


def read(name):
    return (FOLDER / f"{name}.txt").read_text()


def told(text, kind=LeakKind.AVERAGES):
    return [leak for leak in open_model(text.encode(), "m.txt").leaks if leak.kind is kind]


def changes(text, key, changed):
    """Yield the file with each number behind a key changed, one at a time."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not line.startswith(f"{key}="):
            continue
        numbers = line.partition("=")[2].split(" ")
        for place, number in enumerate(numbers):
            other = [*numbers[:place], changed(number), *numbers[place + 1 :]]
            yield "\n".join([*lines[:at], f"{key}={' '.join(other)}", *lines[at + 1 :]])


def test_the_numbers_of_files_that_the_library_wrote_follow_from_their_leaves():
    for name in FOLLOW:
        assert told(read(name)) == [], name


@pytest.mark.parametrize("key", ["internal_value", "internal_weight"])
def test_a_number_that_is_hidden_at_any_inner_node_is_told_and_goes(key, tmp_path):
    for text in changes(read("lightgbm_eight"), key, lambda number: "44.0712"):
        (leak,) = told(text)
        assert leak.removable
        model = tmp_path / "model.txt"
        model.write_text(text)
        clean = redact_file(model, ALL).data
        assert b"44.0712" not in clean
        assert told(clean.decode()) == []
        before, after = (open_model(data, "m").model for data in (text.encode(), clean))
        for old, new in zip(trees_of(before), trees_of(after), strict=True):
            assert list(old.leaves) == [
                replace(leaf, line=old.nodes[leaf.index].line) for leaf in new.leaves
            ]


def test_digits_that_the_library_does_not_print_are_told():
    for text in changes(read("lightgbm_eight"), "internal_value", lambda number: f"{number}440712"):
        assert told(text)


def test_weights_that_are_no_numbers_are_told():
    for text in changes(read("lightgbm_eight"), "internal_weight", lambda number: "nan"):
        assert told(text)


@pytest.mark.parametrize("key", ["leaf_value", "threshold", "leaf_weight", "split_gain"])
def test_digits_and_zeros_that_belong_to_no_number_are_told_and_go(key):
    model = open_model(read("lightgbm_eight").encode(), "m").model
    for text in changes(read("lightgbm_eight"), key, lambda number: with_zeros(number)):
        assert any(leak.removable for leak in told(text, LeakKind.UNKNOWN))
        clean = open_model(text.encode(), "m.txt").opened.without(ALL)
        assert told(clean.decode(), LeakKind.UNKNOWN) == []
        assert open_model(clean, "m").model.members == model.members


def with_zeros(number):
    """Return a number written longer: 0.5 as 0.500, 1 as 1.000."""
    mantissa, exponent, power = number.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + "00" + exponent + power
