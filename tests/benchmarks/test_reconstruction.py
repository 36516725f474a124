"""The benchmark of records that forests prove by themselves, on a small table."""

import numpy as np
import pandas as pd

from benchmarks.reconstruction import SampleSize, measure
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain


def test_it_yields_a_row_for_each_seed_and_checks_each_proof():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 2, (40, 4)), columns=[*"abc", "ill"])
    domain = DeclaredDomain({name: DeclaredColumn((0.0, 1.0)) for name in "abc"})
    rows = list(measure(frame, SampleSize(20, 5, seconds=5.0), domain, 2))
    assert [row[2] for row in rows] == [0, 1]
    assert all(0 <= row[5] <= row[4] <= 20 for row in rows)
