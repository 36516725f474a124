"""Scripts and job files that the how-to pages show are well-formed, and stop on every code but 0."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.docs import pages

GATE = (pages.DOCS / "gate.md").read_text("utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", GATE, re.DOTALL)
JOBS = re.findall(r"```yaml\n(.*?)```", GATE, re.DOTALL)


@pytest.mark.parametrize("script", SHELL)
@pytest.mark.parametrize("code", [0, 1, 3, 4])
def test_a_script_ends_with_the_code_of_the_gate(tmp_path, code, script):
    (tmp_path / "treewarden").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "treewarden").chmod(0o755)
    known = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=known, capture_output=True)
    assert ran.returncode == code


@pytest.mark.parametrize("job", JOBS)
def test_a_job_file_is_yaml_and_runs_the_gate_last(job):
    yaml = pytest.importorskip("yaml", reason="the docs extra is not installed")
    (gate,) = (each for each in _steps(yaml.safe_load(job)) if "treewarden gate" in each)
    assert gate == _steps(yaml.safe_load(job))[-1]
    assert "\n" not in gate.strip()


def _steps(job):
    told = job.get("jobs", job)["privacy-gate"]
    return told.get("script") or [step["run"] for step in told["steps"] if "run" in step]
