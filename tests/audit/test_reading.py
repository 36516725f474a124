"""Numbers of records in words."""

import pytest

from treewarden.audit.reading import people


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (1.0, "1 person"),
        (2.0, "2 people"),
        (12.5, "12.5 people"),
        (1_495_840.0, "1495840 people"),
    ],
)
def test_people_are_said_in_full(records, said):
    assert people(records) == said
