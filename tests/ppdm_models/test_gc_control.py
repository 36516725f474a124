"""The garbage collector is left as it was found."""

import gc

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


def test_what_it_spared_is_looked_through_again_afterwards():
    with gc_control.spared():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
