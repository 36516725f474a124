"""Ctrl-C while several models are audited: no process is left, nothing is written, and the exit code says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit import places
from tests.treewarden.test_interrupt import marked, write_case
from treewarden.terminal.exits import INTERRUPTED

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc"),
]
CONFIGURATION = """policy = "policy.toml"
[[model]]
path = ["tree.json", "copy.json", "third.json"]
table = "table.csv"
sensitive = "y"
worlds = false
"""


@pytest.mark.parametrize("whom", ["the parent", "everybody"])
def test_an_interrupt_ends_every_process_and_leaves_no_file(tmp_path, whom):
    write_case(tmp_path, 4000, 12, 120)
    for name in ("copy.json", "third.json"):
        (tmp_path / name).write_bytes((tmp_path / "tree.json").read_bytes())
    (tmp_path / "treewarden.toml").write_text(CONFIGURATION)
    before = sorted(tmp_path.rglob("*"))
    words = ["gate", "--jobs", "2", "--format", "sarif=out/gate.sarif"]
    said = subprocess.Popen(
        [sys.executable, "-m", "treewarden", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(places.ROOT), "TREEWARDEN_TEST": str(tmp_path)},
        start_new_session=True,
    )
    mark = f"TREEWARDEN_TEST={tmp_path}"
    while not (workers := marked(mark, said.pid)):
        assert said.poll() is None, said.communicate()
        time.sleep(0.02)
    if whom == "everybody":
        os.killpg(said.pid, signal.SIGINT)
    else:
        said.send_signal(signal.SIGINT)
    output, errors = said.communicate()
    assert said.returncode == INTERRUPTED, errors
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    assert not marked(mark, said.pid)
    assert b"Traceback" not in output + errors
    assert sorted(tmp_path.rglob("*")) == before
