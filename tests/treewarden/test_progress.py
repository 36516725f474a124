"""Progress: silent for what is quick, heard for what is not."""

from __future__ import annotations

import threading

import pytest

from treewarden.terminal.progress import PATIENCE_SECONDS, Progress


def test_a_quick_step_is_not_mentioned(capsys):
    with Progress().step("reading"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_long_step_is_announced_on_stderr(capsys):
    with Progress().step("solving"):
        threading.Event().wait(PATIENCE_SECONDS + 0.2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("solving ...\nsolving: done in 1.")


def test_quiet_means_quiet(capsys):
    with Progress(quiet=True).step("solving"):
        threading.Event().wait(PATIENCE_SECONDS + 0.2)
    assert capsys.readouterr() == ("", "")


def test_a_failing_step_fails_as_it_would_alone():
    with pytest.raises(ValueError, match="bad"), Progress().step("solving"):
        raise ValueError("bad")
