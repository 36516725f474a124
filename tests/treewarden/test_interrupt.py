"""Ctrl-C while processes are at work: the exit code says so, nothing is left running, and nothing is half written."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.terminal.exits import INTERRUPTED

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc"),
]
TOP = places.ROOT
CASES = {
    "audit": (4000, 12, 120, ["--no-worlds", "--out", "{folder}/out"]),
    "repair": (1500, 6, 40, ["--worlds-budget", "3", "-o", "{folder}/fixed.json"]),
}
"""Records, classes and splits that keep two processes busy for some seconds, and what is asked for."""
POLICY = """name = "p"
version = "1"
title = "p"
[[clause]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 0.01
"""


def write_case(folder, records, classes, splits):
    """Write a table of six attributes, a tree grown from it, and a policy that it fails."""
    random = np.random.default_rng(0)
    attributes = {f"a{place}": random.integers(0, 6, records) for place in range(6)}
    codes = (sum(attributes.values()) + random.integers(0, 4, records)) % classes
    columns = {
        n: CategoricalColumn(codes=c, categories=tuple("uvwxyz")) for n, c in attributes.items()
    }
    labels = [f"c{code}" for code in range(classes)]
    tree = BestFirst("entropy").growth(columns, of_classes("y", codes, labels), splits).tree(splits)
    (folder / "tree.json").write_bytes(writers()["treewarden_json"].write(tree))
    rows = zip(*(column.codes for column in columns.values()), codes, strict=True)
    lines = [",".join([*("uvwxyz"[code] for code in row[:-1]), labels[row[-1]]]) for row in rows]
    (folder / "table.csv").write_text("\n".join([",".join([*columns, "y"]), *lines, ""]))
    (folder / "policy.toml").write_text(POLICY)
    (folder / "out").mkdir()


def marked(mark, leader):
    """Return the processes that inherited a mark from their parent, other than the leader: workers lead sessions."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another's
            if mark.encode() in place.read_bytes():
                found.add(int(place.parent.name))
    return found - {leader}


def started(folder, command, *more):
    """Write the files of a case and start its command; return what the folder holds, and the process."""
    records, classes, splits, asked = CASES[command]
    write_case(folder, records, classes, splits)
    before = sorted(folder.rglob("*"))
    words = [command, "tree.json", "--data", "table.csv", "--sensitive", "y", "--jobs", "2"]
    words += ["--policy", "policy.toml", *(word.format(folder=folder) for word in asked)]
    return before, subprocess.Popen(
        [sys.executable, "-m", "treewarden", *words, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP), "TREEWARDEN_TEST": str(folder)},
        start_new_session=True,
    )


@pytest.mark.parametrize("whom", ["the parent", "everybody"])
@pytest.mark.parametrize("command", CASES)
def test_an_interrupt_ends_every_process_and_leaves_no_file(tmp_path, command, whom):
    before, said = started(tmp_path, command)
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
    # One that ended but was not waited for has no environment any more, but still its number.
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    assert not marked(mark, said.pid)
    assert b"Traceback" not in output + errors
    assert errors.endswith(b"interrupted: nothing was written\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("more", [(), ("--redacted",)])
def test_an_interrupt_of_a_search_shows_what_was_tried_and_writes_nothing(tmp_path, more):
    before, said = started(tmp_path, "repair", *more)
    for line in said.stderr:
        if line.startswith(b"trying "):
            break
    said.send_signal(signal.SIGINT)
    output, errors = said.communicate()
    assert said.returncode == INTERRUPTED, errors
    assert b"Tried, best first" in output
    why = "left out of a redacted report" if more else "the search was interrupted"
    assert f"not audited: {why}".encode() in output
    assert (b"Redacted:" in output) == bool(more)
    assert b"interrupted: nothing was written" in errors
    assert b"Traceback" not in output + errors
    assert not marked(f"TREEWARDEN_TEST={tmp_path}", said.pid)
    assert sorted(tmp_path.rglob("*")) == before
