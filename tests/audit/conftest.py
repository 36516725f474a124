"""Processes that do jobs of an audit."""

import os

import pytest

from treewarden.audit.workers.pool import Pool


@pytest.fixture
def pool():
    """Return processes of its own, which end afterwards."""
    found = Pool()
    yield found
    found.stop()


@pytest.fixture
def endless(tmp_path):
    """Return a pipe that nobody writes into: reading it is a job without an end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path
