"""A plug-in of pytest that wakes one mutant after the other, each in a process forked after tests were collected."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import mutant_switch  # type: ignore[import-not-found]  # it is in the copy only

PLAN = Path(os.environ["TREEWARDEN_MUTANT_PLAN"])
RESULTS = Path(os.environ["TREEWARDEN_MUTANT_RESULTS"])
PASSED, FAILED = b".", b"F"
LOOK_SECONDS = 2
BUSY = 8
"""How many times as long as it computes a test may take: other programs run too, and some tests wait."""


def pytest_runtestloop(session):
    """Try each mutant of the plan on its tests, in their order, until one fails."""
    items = {item.nodeid: item for item in session.items}
    for wanted in json.loads(PLAN.read_text(encoding="utf-8")):
        tests = [(items[name], limit) for name, limit in wanted.pop("tests") if name in items]
        line = {**wanted, "killer": None}
        if tests:
            line["killer"], line["how"] = _tried(session, wanted["number"], tests)
        if not line["killer"]:
            line["tried"] = [*wanted["tried"], *(test.nodeid for test, _ in tests)]
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return True


def _tried(session, number, tests):
    """Return the test that fails, takes too long or crashes with a mutant awake, or None, and how it ended."""
    reading, writing = os.pipe()
    temporary = tempfile.mkdtemp(prefix="mutant-")
    process = os.fork()
    if process == 0:
        try:
            _run(session, number, [test for test, _ in tests], writing, temporary)
        finally:
            os._exit(0)  # whatever happens, only the parent goes on to the next mutant
    os.close(writing)
    try:
        for test, limit in tests:
            said = os.read(reading, 1) if _is_told(reading, process, limit) else b"timeout"
            if said != PASSED:
                # A process that ends without a word was ended by the mutant.
                return test.nodeid, "failed" if said == FAILED else said.decode() or "crash"
        return None, "survived"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(reading)
        shutil.rmtree(temporary, ignore_errors=True)


def _is_told(reading, process, limit):
    """Return whether a process says something before it has computed so long; on a busy machine that takes longer."""
    began, waited = _seconds_of(process), 0
    while waited < BUSY * limit and _seconds_of(process) - began <= limit:
        if select.select([reading], [], [], LOOK_SECONDS)[0]:
            return True
        waited += LOOK_SECONDS
    return False


def _seconds_of(process):
    """Return for how long a process has computed, with those that it started and saw the end of."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _run(session, number, tests, writing, temporary):
    """Run tests in this process, and write one byte for each."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.update(TREEWARDEN_MUTANT=str(number), PYTEST_DEBUG_TEMPROOT=temporary)
    mutant_switch.awake = number
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        try:
            session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        except BaseException:  # what ends the run is a failure of its test
            session.testsfailed += 1
        os.write(writing, FAILED if session.testsfailed else PASSED)
        if session.testsfailed:
            break
