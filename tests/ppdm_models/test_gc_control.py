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
        self.spared, self.counted = spared, 0

    def get_freeze_count(self):
        self.counted += 1
        return self.spared

    def freeze(self):
        self.spared += 100

    def unfreeze(self):
        self.spared = 0


@pytest.fixture(params=[0, 7])
def spared_before(request, monkeypatch):
    """A collector that spares so many objects, in a process that has not asked it yet."""
    found = Collector(request.param)
    monkeypatch.setattr(gc_control, "gc", found)
    monkeypatch.setattr(gc_control, "_is_spared", False)
    return found


def test_what_it_spared_is_looked_through_again_afterwards(spared_before):
    before = spared_before.spared
    for _ in range(2):
        with gc_control.spared():
            assert spared_before.spared == (before or 100)
        assert spared_before.spared == before


def test_what_is_spared_is_not_counted_again_and_again(spared_before):
    with gc_control.spared():
        for _ in range(3):
            with gc_control.spared():
                assert spared_before.spared
    assert spared_before.counted == 1


def test_the_collector_of_python_has_what_is_asked_of_it():
    code = (
        "import gc\nfrom treewarden.ppdm_models.gc_control import spared\n"
        "with spared():\n    print(gc.get_freeze_count() > 0)\nprint(gc.get_freeze_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]


def test_a_command_looks_for_garbage_less_often_than_python_does():
    code = (
        "import gc, sys\nfrom treewarden.cli import main\nbefore = gc.get_threshold()\n"
        "sys.argv = ['treewarden', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(gc.get_threshold() > before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "True"
