"""Arrays go to Arrow as Arrow itself would take them."""

import numpy as np
import pyarrow as pa
import pytest

from treewarden.ppdm_models.tables.number_formats import array_of

NUMBERS = np.arange(-10, 11)


@pytest.mark.parametrize(
    "values",
    [
        NUMBERS,
        NUMBERS / 7,
        NUMBERS.astype(np.int8),
        NUMBERS > 3,
        NUMBERS[::-2],
        NUMBERS[3:5] > 3,
        NUMBERS[:0],
        NUMBERS[:0] > 3,
    ],
)
@pytest.mark.parametrize("is_missing", [False, True])
def test_an_array_is_what_arrow_makes_of_it(values, is_missing):
    missing = np.arange(len(values)) % 3 == 1
    expected = pa.array(values, mask=missing if is_missing else None)
    found = array_of(values, missing if is_missing else None)
    found.validate(full=True)
    assert found.type == expected.type
    assert found.null_count == expected.null_count
    assert found.equals(expected)


def test_what_is_not_missing_anywhere_has_no_nulls():
    assert array_of(NUMBERS, NUMBERS > 100).null_count == 0
