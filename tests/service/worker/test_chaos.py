import pytest

from tests.judges.run_chaos import chaos
from tests.kit.service import sites


@pytest.mark.processes
@pytest.mark.parametrize("kind", sites.KINDS)
def test_nothing_is_lost_or_done_twice_where_workers_are_killed_and_halted(kind):
    # A lease of the benchmark's length is lost to a slow disk as well, five times in the end.
    found = chaos(kind, 6, 2, 1, last=4, lease=8.0)
    assert found["done"] == 10, found
    bad = ("lost", "committed twice", "left", "mistakes")
    assert not {
        words: number for words, number in found.items() if words.startswith(bad) and number
    }
