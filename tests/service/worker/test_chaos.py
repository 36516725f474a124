import pytest

from tests.judges.run_chaos import chaos
from tests.kit.service import sites


@pytest.mark.processes
@pytest.mark.parametrize("kind", sites.KINDS)
def test_nothing_is_lost_or_done_twice_where_workers_are_killed_and_halted(kind):
    # A lease of the benchmark's length is lost to a slow disk as well, five times in the end.
    # The kill is that of the server; of the two workers one is halted, and both go for good in the end.
    found = chaos(kind, 6, 1, 1, seed=9, last=3, lease=8.0, workers=2)
    assert found["done"] == 9, found
    assert found["servers killed"] == 1, found
    bad = ("lost", "committed twice", "left", "mistakes")
    assert not {
        words: number for words, number in found.items() if words.startswith(bad) and number
    }
