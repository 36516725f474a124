"""A plug-in of pytest that notes which tests evaluate which mutants, and how long each test takes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import mutant_switch  # type: ignore[import-not-found]  # it is in the copy only
import pytest

from tests.mutants.copying import file_of

REACH = Path(os.environ["TREEWARDEN_MUTANT_REACH"])
RECORDED = Path(os.environ["TREEWARDEN_MUTANT_RECORDED"])
of_fixture: dict[str, set[int]] = {}
has_passed: dict[str, bool] = {}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Note what a fixture evaluates that several tests share: each of them depends on it."""
    before, mutant_switch.evaluated = mutant_switch.evaluated, set()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            of_fixture.setdefault(fixturedef.argname, set()).update(mutant_switch.evaluated)
        mutant_switch.evaluated |= before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    mutant_switch.evaluated = set()
    began = _seconds()
    done = yield
    reached = set(mutant_switch.evaluated)
    for name in getattr(item, "fixturenames", ()):
        reached |= of_fixture.get(name, set())
    tier = item.config.getoption("tier")
    line = {
        "test": item.nodeid,
        "tier": tier,
        "seconds": round(_seconds() - began, 3),
        "passed": has_passed.pop(item.nodeid, False),
        "reached": sorted(reached),
    }
    _append(REACH, line)
    if nextitem is None or nextitem.path != item.path:
        _append(RECORDED, {"path": file_of(item.nodeid), "tier": tier})
    return done


def _append(path, line):
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_runtest_logreport(report):
    """A test is of use where it ran and passed."""
    if report.when == "call":
        has_passed[report.nodeid] = report.passed
    elif report.failed:
        has_passed[report.nodeid] = False


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
