"""The garbage collector is left as it was found."""

import gc
import subprocess
import sys

import pytest

from treewarden.ppdm_models import gc_control


@pytest.fixture
def collector():
    """Let the collector be as it was, whatever happens."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("switch", [gc.enable, gc.disable])
def test_after_a_pause_it_runs_where_it_ran_before(collector, switch):
    switch()
    was_on = gc.isenabled()
    with gc_control.paused():
        assert not gc.isenabled()
    assert gc.isenabled() is was_on


class Collector:
    """Counts what it spares, in place of the one of this process, which spares what tests have in common."""

    def __init__(self, spared):
        self.spared = spared

    def get_freeze_count(self):
        return self.spared

    def freeze(self):
        self.spared += 100

    def unfreeze(self):
        self.spared = 0


@pytest.mark.parametrize(("before", "meanwhile"), [(0, 100), (7, 7)])
def test_what_it_spared_is_looked_through_again_afterwards(before, meanwhile, monkeypatch):
    found = Collector(before)
    monkeypatch.setattr(gc_control, "gc", found)
    with gc_control.spared():
        assert found.spared == meanwhile
    assert found.spared == before


def test_the_collector_of_python_has_what_is_asked_of_it():
    code = (
        "import gc\nfrom treewarden.ppdm_models.gc_control import spared\n"
        "with spared():\n    print(gc.get_freeze_count() > 0)\nprint(gc.get_freeze_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]
