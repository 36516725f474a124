"""Numbers on the command line: their limits are told in words, in the help and in errors."""

import pytest
from click import BadParameter

from treewarden.commands._common_options import Number, WholeNumber


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (WholeNumber(min=1), "0", "0 is outside the limits; give 1 or more"),
        (WholeNumber(min=1), "abc", "'abc' is not a whole number; give a whole number: 1 or more"),
        (WholeNumber(), "1.5", "'1.5' is not a whole number; give a whole number"),
        (Number(min=0, min_open=True), "0", "0 is outside the limits; give more than 0"),
        (Number(0.5, 0.999), "1", "1 is outside the limits; give 0.5 to 0.999"),
        (Number(min=0, max=1e9), "soon", "'soon' is not a number; give a number: 0 or more"),
        (Number(max=3), "nan", "'nan' is not a number; give a number: at most 3"),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_its_limits(kind, value, said):
    with pytest.raises(BadParameter) as refused:
        kind.convert(value, None, None)
    assert refused.value.message == said


def test_a_number_within_its_limits_is_taken():
    assert WholeNumber(0, 3).convert("3", None, None) == 3
    assert Number(min=0, min_open=True).convert("0.5", None, None) == 0.5
