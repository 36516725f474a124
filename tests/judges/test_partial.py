"""A small share of the soundness harness of who knows some columns only: every table that fits judges."""

from tests.judges.run_partial import trial
from tests.kit.rows import rows


@rows("seed", range(40), quick=12)
def test_what_is_said_of_who_knows_some_columns_is_that_of_every_table(seed):
    assert trial(seed).misses == []
