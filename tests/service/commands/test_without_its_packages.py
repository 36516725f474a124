import subprocess
import sys

import pytest

HIDDEN = """
import sys
sys.modules["sqlalchemy"] = sys.modules["fastapi"] = None
sys.argv = ["treewarden", {command!r}, "--help"]
from treewarden.cli import main
main()
"""


@pytest.mark.parametrize("command", ["serve", "worker", "db"])
def test_a_command_of_the_service_says_which_extra_brings_its_packages(command):
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(command=command)], capture_output=True, text=True
    )
    assert done.returncode == 4
    assert "pip install 'treewarden[serve]'" in done.stderr
