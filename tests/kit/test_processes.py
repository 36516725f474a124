"""The end of a process is waited for, whether it is there to be waited for or gone already."""

import os
import subprocess
import sys

from tests.kit.processes import wait_for_end


def test_a_process_that_ends_is_waited_for_and_one_that_is_gone_is_not():
    reading, writing = os.pipe()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=reading) as process:
        os.close(reading)
        assert process.poll() is None
        os.close(writing)
        wait_for_end(process.pid)
        assert process.poll() is not None
    wait_for_end(process.pid)
