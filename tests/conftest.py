"""What holds for all tests: how long one takes says nothing of whether it passes; and a browser for those of pages.

They need chromium; without it they are skipped, unless TREEWARDEN_REQUIRE_BROWSER=1 says that they must run.
"""

import os
import shutil

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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
