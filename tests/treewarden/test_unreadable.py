"""A file that cannot be read: the same words and the same exit code whatever the file is for, and the right advice."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.run import run_command
from treewarden.ppdm_models.errors import reading_problem

NOBODY = 65534
MAY_NOT = "this user may not read this file; ask its owner for permission to read it"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("audit", "none.pmml", "--data", "people.csv"), "none.pmml"),
        (("audit", "flu.pmml", "--data", "none.csv"), "none.csv"),
        (("redact", "none.pmml", "-o", "out.pmml"), "none.pmml"),
        (("convert", "none.pmml", "out.json"), "none.pmml"),
        (("repair", "none.pmml", "--data", "people.csv", "-o", "out.pmml"), "none.pmml"),
        (("anonymize", "none.csv", "--sensitive", "flu", "--k", "2", "-o", "o.csv"), "none.csv"),
        (("verify", "none.json", "--model", "flu.pmml", "--data", "people.csv"), "none.json"),
        (("audit", "flu.pmml", "--data", "people.csv", "--knowledge", "none.toml"), "none.toml"),
        (("audit", "flu.pmml", "--data", "people.csv", "--dictionary", "none.csv"), "none.csv"),
    ],
)
def test_a_file_that_is_not_there_is_a_matter_of_its_path(files, monkeypatch, words, name):
    monkeypatch.chdir(files.folder)
    outcome = run_command(*words)
    assert outcome.exit_code == 4, outcome.output
    assert f"{name}: there is no such file; check the path" in outcome.stderr


def test_what_was_to_be_given_is_said_only_where_path_and_permission_are_right():
    assert reading_problem(PermissionError(errno.EACCES, ""), "give a table") == MAY_NOT
    assert reading_problem(FileNotFoundError(errno.ENOENT, ""), "give a table").endswith(
        "; check the path"
    )
    assert reading_problem(IsADirectoryError(errno.EISDIR, ""), "give a table").endswith(
        "; give a table"
    )


@contextmanager
def held_back_by_permissions():
    """Be somebody whom permissions hold back: root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(os.name == "nt", reason="rights of files are another matter there")
def test_a_model_and_a_table_that_may_not_be_read_end_alike(files, monkeypatch):
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        words = ("audit", "flu.pmml", "--data", "people.csv", "--sensitive", "flu", "-q")
        for name in ("flu.pmml", "people.csv"):
            Path(name).write_bytes((files.folder / name).read_bytes())
        Path(folder).chmod(0o755)  # noqa: S103  # for a user who is not root
        assert run_command(*words).exit_code == 1  # and all that is imported for it is there
        for name in ("flu.pmml", "people.csv"):
            Path(name).chmod(0)
            with held_back_by_permissions():
                outcome = run_command(*words)
            outcomes[name] = outcome.exit_code, outcome.stderr.strip()
            Path(name).chmod(0o644)
        monkeypatch.undo()
    assert outcomes == {
        name: (4, f"no audit was performed: {name}: {MAY_NOT}") for name in outcomes
    }
