"""Classes are numbered as they are met, whatever type they have, and no more than can be counted."""

import numpy as np
import pyarrow as pa
import pytest

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.methods.randomised.streaming import MOST_CLASSES, ClassNumbers


def test_of_no_record_there_is_no_class():
    labels = ClassNumbers("t.csv", "flu")
    assert labels.numbers(pa.array([], pa.string())).tolist() == []
    assert not labels.are_too_many


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.int64(), pa.dictionary(pa.int8(), pa.string())]
)
def test_a_class_keeps_its_number_and_to_have_none_is_one(kind):
    labels = ClassNumbers("t.csv", "flu")
    first, second = (
        pa.array(each, pa.string()).cast(kind) for each in (["7", None, "7"], ["8", "7", None])
    )
    assert labels.numbers(first).tolist() == [0, 1, 0]
    assert labels.numbers(second).tolist() == [2, 0, 1]


def test_what_is_one_class_too_many_is_said_and_stays_within_bounds():
    labels = ClassNumbers("t.csv", "flu")
    most = pa.array(np.arange(MOST_CLASSES))
    assert labels.numbers(most).tolist() == [*range(MOST_CLASSES)]
    assert not labels.are_too_many
    assert labels.numbers(pa.array([MOST_CLASSES, 10**6, 0])).tolist() == [MOST_CLASSES - 1] * 2 + [
        0
    ]
    assert labels.are_too_many
    assert labels.numbers(pa.array(["new", "one"])).tolist() == [MOST_CLASSES - 1] * 2


def test_lists_are_no_classes():
    with pytest.raises(
        TableError, match="column 'flu' holds list<item: int64>, which are not classes"
    ):
        ClassNumbers("t.csv", "flu").numbers(pa.array([[1], [2]]))
