"""A small share of the soundness harness of files and tables: hostile small tables, judged by the real learners."""

import pytest

from tests.judges.learners.cases import KINDS
from tests.judges.run_learners import trial
from tests.kit.tiers import seeds

SEEDS = seeds(30)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_called_certain_holds_wherever_the_learner_grows_the_same_tree(kind, seed):
    assert trial(kind, seed).misses == []
