"""Audits run from scripts without a main guard and from standard input: helper processes import nothing of them."""

import subprocess
import sys

import pytest

from tests.kit import places
from tests.kit.tiers import cases

CODE = """
import numpy as np, pandas as pd, treewarden as tw
from sklearn.tree import DecisionTreeClassifier
random = np.random.default_rng(0)
frame = pd.DataFrame({name: random.integers(0, 9, 300) for name in "ab"})
frame["y"] = random.integers(0, 2, 300)
tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[["a", "b"]], frame["y"])
from treewarden.audit.workers.pool import start_ahead
start_ahead(2)
print("once", tw.audit(tree, frame, sensitive="y", worlds_budget=0, jobs=2).verdict)
"""


@pytest.mark.processes
@pytest.mark.parametrize("how", cases(["a file", "standard input"], quick=1))
def test_without_a_main_guard_the_script_runs_once(how, tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(path) if how == "a file" else "-"],
        input=CODE if how != "a file" else None,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(places.ROOT), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("once ")
    assert done.stdout.count("once") == 1
