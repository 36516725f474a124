"""What holds for all tests: tiers, no test has a deadline, and a browser for tests of pages.

These need chromium. Without it they are skipped, unless TREEWARDEN_REQUIRE_BROWSER=1 says that they must run.
"""

import gc
import os
import shutil
from collections import Counter

import pytest
from hypothesis import settings

from tests.kit import tiers
from treewarden.ppdm_models import gc_control

LEFT_OUT = pytest.StashKey[Counter[str]]()
PROFILE = pytest.StashKey[str]()
GARBAGE = (20_000, 20, 20)
"""How many objects more make the collector look through the youngest, and how often it then looks through others."""


def pytest_addoption(parser):
    parser.addoption(
        "--tier",
        choices=tiers.TIERS,
        default="all",
        help="quick: every claim, few seeds; rest: what quick leaves out; all: both (the default); "
        "soundness: all seeds and examples of what is drawn",
    )
    parser.addoption(
        "--new-draws",
        action="store_true",
        help="tests of Hypothesis draw examples that differ from run to run",
    )


def pytest_configure(config):
    config.stash[LEFT_OUT] = Counter()
    config.stash[PROFILE] = settings.get_current_profile_name()
    tiers.load_profile(config.getoption("tier"), has_new_draws=config.getoption("--new-draws"))
    for name, what in tiers.MARKERS.items():
        config.addinivalue_line("markers", f"{name}: second tier, tests {what}")
    config.addinivalue_line(
        "markers", f"{tiers.SOUNDNESS}: seeds and cases that only this tier tries"
    )
    config.addinivalue_line("markers", f"{tiers.IN_BOTH}: both tiers, the second tries more")


def pytest_unconfigure(config):
    settings.load_profile(config.stash[PROFILE])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    items[:], config.stash[LEFT_OUT] = tiers.split(items, config.getoption("tier"))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take over what a worker of pytest-xdist left out: each of them collects the same tests."""
    node.config.stash[LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter, config):
    if config.stash[LEFT_OUT]:
        terminalreporter.write_line(tiers.left_out_line(config.stash[LEFT_OUT]))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # What is collected stays to the end: the collector of garbage need not look at it again and again. What tests
    # make is collected in larger pieces: else a seventh of the time of the service's tests went into looking for it.
    with gc_control.paused():
        collected = yield
        gc.freeze()
        gc.set_threshold(*GARBAGE)
    return collected


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one module: its loop must not go on beside those of other modules."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("TREEWARDEN_REQUIRE_BROWSER") == "1":
            pytest.fail("TREEWARDEN_REQUIRE_BROWSER=1, and there is no chromium")
        pytest.skip("no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as player:
        opened = player.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
