import multiprocessing
import os
import socket
import sys
from pathlib import Path

import pytest

from treewarden.service.worker.sandbox import NICER, ProcessLimits, confine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these limits are Linux's")
LIMITS = ProcessLimits(4 * 2**30, 60)


def writes(folder):
    Path(folder, "made").write_text("here")


def appends(folder):
    with Path(folder, "there").open("a") as file:
        file.write("more")


def removes(folder):
    Path(folder, "there").unlink()


def takes_memory(folder):
    bytearray(8 * 2**30)


def calls_out(folder):
    with socket.create_connection(("127.0.0.1", int(Path(folder, "port").read_text())), 5):
        pass


def reads_and_keeps_in_memory(folder):
    assert Path(folder, "there").read_text() == "text"
    os.write(os.memfd_create("x"), b"y" * 1000)


def waits_for_others(folder):
    if os.nice(0) < NICER:
        raise OSError


def confined(what, folder, connection):
    confine(LIMITS)
    try:
        what(folder)
        connection.send_bytes(b"done")
    except (OSError, MemoryError) as error:
        connection.send_bytes(type(error).__name__.encode())


def outcome(what, folder):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=confined, args=(what, str(folder), theirs))
    process.start()
    assert ours.poll(60)
    said = ours.recv_bytes().decode()
    process.join()
    return said


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "there").write_text("text")
    return tmp_path


@pytest.mark.parametrize("what", [writes, appends, removes])
def test_no_file_is_changed(what, folder):
    assert outcome(what, folder) == "PermissionError"
    assert [each.name for each in folder.iterdir()] == ["there"]
    assert (folder / "there").read_text() == "text"


def test_files_are_read_and_memory_is_written(folder):
    assert outcome(reads_and_keeps_in_memory, folder) == "done"


def test_it_goes_behind_other_processes(folder):
    assert outcome(waits_for_others, folder) == "done"


def test_memory_has_an_end(folder):
    assert outcome(takes_memory, folder) == "MemoryError"


def test_nobody_is_called(folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        (folder / "port").write_text(str(server.getsockname()[1]))
        assert outcome(calls_out, folder) == "OSError"
