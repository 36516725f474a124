"""What an audit imports, and what it leaves alone."""

import subprocess
import sys

import pytest

SEEN = """
import sys
import audit.run
print("scipy.stats" in sys.modules)
from pyomo.common.dependencies import scipy, scipy_available
print(bool(scipy_available), scipy.stats.norm.cdf(0.0))
"""


def test_statistics_are_imported_only_where_somebody_asks_pyomo_for_them():
    found = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True", "0.5"]


@pytest.mark.parametrize(
    "left_out", ["audit.system.system", "pydantic", "pyarrow", "pyomo.environ"]
)
def test_a_worker_imports_what_solves_a_block_and_no_more(left_out):
    seen = f"import sys, audit.solver.worker; print({left_out!r} in sys.modules)"
    found = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]
