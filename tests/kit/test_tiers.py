"""Which tests are left out of the quick tier, and that it is said."""

from collections import Counter

import pytest

from tests.kit import tiers

FILE = """
import pytest
from tests.kit.tiers import cases, seeds

@pytest.fixture
def cluster():
    pass

@pytest.mark.parametrize("seed", seeds(8, quick=(0, 5)))
def test_draws(seed):
    pass

@pytest.mark.parametrize("case", cases("abc", quick=1))
def test_cases(case):
    pass

@pytest.mark.postgresql
def test_server():
    pass

def test_on_a_cluster(cluster):
    pass
"""
QUICK = {"test_draws[0]", "test_draws[5]", "test_cases[a]"}
SECOND = {f"test_draws[{seed}]" for seed in (1, 2, 3, 4, 6, 7)}
SECOND |= {"test_cases[b]", "test_cases[c]", "test_server", "test_on_a_cluster"}
RUNS = {"quick": QUICK, "rest": SECOND, "all": QUICK | SECOND}


class Names:
    """A plug-in that notes what was collected."""

    def __init__(self):
        self.names = set()

    def pytest_collection_finish(self, session):
        self.names |= {item.name for item in session.items}


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_a_tier_has_its_tests_and_quick_says_what_it_leaves_out(tier, tmp_path, capsys):
    (tmp_path / "test_file.py").write_text(FILE, encoding="utf-8")
    found = Names()
    words = ["-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", str(tmp_path)]
    words += ["-c", "/dev/null", "--import-mode=importlib", "--tier", tier, str(tmp_path)]
    assert pytest.main(words, plugins=[found]) == 0
    assert found.names == RUNS[tier]
    assert ("left out" in capsys.readouterr().out) == (tier == "quick")


def test_what_is_left_out_is_counted_by_reason():
    line = tiers.left_out_line(Counter(more_seeds=1200, browser=2))
    assert line == (
        "left out, run them with make test-all: 1,202 tests "
        "(1,200 further draws of claims that the quick tier tries on a few; 2 in a browser)"
    )


@pytest.mark.parametrize("quick", [0, (), (8,), 9])
def test_a_claim_has_a_seed_in_the_quick_tier(quick):
    with pytest.raises(AssertionError):
        tiers.seeds(8, quick=quick)
