"""How a worker hears that it is to end."""

import subprocess
import sys

import pytest

from tests.kit.service.serving import SECONDS
from tests.kit.tiers import cases

AT_THE_WORST_MOMENT = """
import os, signal, sys
from treewarden.service.worker.working import stop_at_signals

stop = stop_at_signals()
with stop._cond:  # as it is held for a moment at each wait
    os.kill(os.getpid(), signal.{name})
    sum(range(1000))  # the handler has run by then
sys.exit(0 if stop.wait(30) else 1)
"""


@pytest.mark.parametrize("name", cases(("SIGTERM", "SIGINT"), quick=1))
def test_a_signal_is_heard_while_the_event_is_being_asked(name):
    program = AT_THE_WORST_MOMENT.format(name=name)
    assert subprocess.run([sys.executable, "-c", program], timeout=SECONDS).returncode == 0
