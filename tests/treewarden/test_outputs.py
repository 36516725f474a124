"""Results on disk: whole or not at all, and the place is checked first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ppdm_models.errors import OutputError
from treewarden.terminal.outputs import check_file, check_folder, write_files

READ_ONLY_EVEN_FOR_ROOT = Path("/proc/self")


def test_files_are_written_with_the_rights_of_any_new_file(tmp_path):
    write_files({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    (tmp_path / "plain").touch()
    assert (tmp_path / "a").read_bytes() == b"1"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_cannot_be_written_leaves_the_others_unwritten(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OutputError, match=r"nowhere.b: cannot be written"):
        write_files({tmp_path / "a": b"new", tmp_path / "nowhere" / "b": b"2"})
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_missing_folder_is_refused_before_work(tmp_path):
    with pytest.raises(OutputError, match="no such folder"):
        check_folder(tmp_path / "nowhere")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="not a folder"):
        check_folder(tmp_path / "file")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OutputError, match="is a folder"):
        check_file(tmp_path)


@pytest.mark.skipif(not READ_ONLY_EVEN_FOR_ROOT.is_dir(), reason="no /proc on this system")
def test_a_folder_that_takes_no_files_is_refused_before_work():
    with pytest.raises(OutputError, match="cannot be written into"):
        check_folder(READ_ONLY_EVEN_FOR_ROOT)


def test_checking_leaves_nothing_behind(tmp_path):
    check_file(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
