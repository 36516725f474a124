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


def pytest_runtestloop(session):
    """Try each mutant of the plan on its tests, in their order, until one fails."""
    items = {item.nodeid: item for item in session.items}
    for wanted in json.loads(PLAN.read_text(encoding="utf-8")):
        tests = [items[name] for name in wanted["tests"] if name in items]
        killer = _tried(session, wanted["number"], tests, wanted["timeout"]) if tests else None
        line = {"key": wanted["key"], "killer": killer, "left": wanted["left"], "tests": len(tests)}
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return True


def _tried(session, number, tests, timeout):
    """Return the test that fails with a mutant awake, ``timeout`` where all take too long, or None."""
    reading, writing = os.pipe()
    temporary = tempfile.mkdtemp(prefix="mutant-")
    process = os.fork()
    if process == 0:
        try:
            _run(session, number, tests, writing, temporary)
        finally:
            os._exit(0)  # whatever happens, only the parent goes on to the next mutant
    os.close(writing)
    try:
        is_told, _, _ = select.select([reading], [], [], timeout)
        said = os.read(reading, 10_000).decode() if is_told else "timeout"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(reading)
        shutil.rmtree(temporary, ignore_errors=True)
    # A process that ends without a word was ended by the mutant.
    return None if said == "survived" else said or "crash"


def _run(session, number, tests, writing, temporary):
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.update(TREEWARDEN_MUTANT=str(number), PYTEST_DEBUG_TEMPROOT=temporary)
    mutant_switch.awake = number
    said = "survived"
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        try:
            session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        except BaseException:  # what ends the run is a failure of its test
            session.testsfailed += 1
        if session.testsfailed:
            said = test.nodeid
            break
    os.write(writing, said.encode())
