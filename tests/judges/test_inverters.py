"""What leaf values say of labels, against models grown here, on a few of the cases that judge it in full."""

from dataclasses import replace

import pytest

from tests.judges import run_inverters as inverters_soundness
from tests.judges.inverter_learners import LEARNERS, is_there
from tests.judges.run_inverters import trial
from treewarden.audit.inverters import LeafSums


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_model_misses(learner, seed):
    if not is_there(learner):
        pytest.skip(f"{learner} is not installed")
    assert trial(learner, seed).misses == []


def test_sums_that_are_wrong_are_noticed(monkeypatch):
    pytest.importorskip("sklearn", reason="grows the model that is inverted")
    right = inverters_soundness.leaf_sums

    def wrong(case):
        sums = right(case)
        more = isinstance(sums, LeafSums)
        return replace(sums, low=sums.low + 1, high=sums.high + 1) if more else sums

    monkeypatch.setattr(inverters_soundness, "leaf_sums", wrong)
    assert any("sums of leaves are wrong" in said for said in trial("scikit-learn GB", 1).misses)
