"""A small share of the soundness harness of files and tables: hostile small tables, judged by the real learners."""

import pytest

from benchmarks.doors_cases import KINDS, has_sampling_weights
from benchmarks.doors_soundness import trial

SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_called_certain_holds_wherever_the_learner_grows_the_same_tree(kind, seed):
    if kind == "weights" and not has_sampling_weights():
        pytest.skip("build_population takes no sampling weights yet")
    assert trial(kind, seed).misses == []
