"""A worker waits most of the time: what audits need is loaded by the processes of jobs, not by the worker."""

import subprocess
import sys

LOADED = """
import importlib, sys
importlib.import_module("treewarden.service.worker.working")
print(*sorted({"casadi", "ortools", "pandas", "pyarrow", "pyomo", "scipy"} & set(sys.modules)))
"""


def test_a_worker_loads_nothing_that_only_audits_need():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
