"""``treewarden serve`` as it is run: a process of its own, with its worker beside it."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.kit.processes import wait_for_end
from tests.kit.service import sites
from tests.kit.service.serving import SECONDS, until
from tests.kit.service.tables import add

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc"),
]


def arguments(folder, *more):
    return [sys.executable, "-m", "treewarden", "serve", "--data-dir", str(folder), *more]


@contextmanager
def running(folder, *more):
    """Give the process and the address that it said."""
    process = subprocess.Popen(
        arguments(folder, "--port", "0", *more), stdout=subprocess.PIPE, text=True
    )
    told = []
    try:
        for line in process.stdout:
            told.append(line)
            if line.startswith("http://"):
                break
        else:
            pytest.fail("it ended without a word of where it listens")
        yield process, "".join(told)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        wait_for_end(*workers(folder))


def workers(folder):
    """Return what runs for a data folder but the server itself: its environment names the folder."""
    mark, found = f"TREEWARDEN_DATA_DIR={folder}\0".encode(), []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = mark in (each / "environ").read_bytes()
            state = (each / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # gone meanwhile
            continue
        if is_ours and state not in "ZX":
            found.append(int(each.name))
    return found


def enrolled(folder, told):
    """Return whether the worker says of itself that it is there."""
    address, token = re.search(r"http://\S+", told)[0], re.search(r"token: (\S+)", told)[1]
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{address}/api/v1/workers", headers=headers, timeout=SECONDS)
    return bool(answer.json()["items"])


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_worker_is_left_however_the_server_ends(tmp_path, ending):
    with running(tmp_path, "--create-admin", "root") as (process, told):
        until(lambda: enrolled(tmp_path, told))
        assert workers(tmp_path)
        process.send_signal(ending)
        status = process.wait(SECONDS)
        wait_for_end(*workers(tmp_path))
        assert not workers(tmp_path)
    assert status == (-ending if ending is signal.SIGKILL else 0)


def test_a_worker_that_dies_is_begun_again(tmp_path):
    with running(tmp_path, "--create-admin", "root") as (_, told):
        until(lambda: enrolled(tmp_path, told))
        first = set(workers(tmp_path))
        for each in first:
            os.kill(each, signal.SIGKILL)
        until(lambda: set(workers(tmp_path)) - first)


def test_a_second_server_on_the_same_folder_is_refused_in_words(tmp_path):
    with running(tmp_path):
        second = subprocess.run(
            arguments(tmp_path, "--port", "0"), capture_output=True, text=True, timeout=SECONDS
        )
    assert second.returncode == 4
    assert "--data-dir: another server is using it" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_port_that_is_taken_is_refused_in_words(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        second = subprocess.run(
            arguments(tmp_path, "--port", port), capture_output=True, text=True, timeout=SECONDS
        )
    assert second.returncode == 4
    assert "choose another --port" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_key_that_opens_nothing_is_refused_before_more_is_sealed_with_it(tmp_path, command):
    with sites.make_site("sqlite", tmp_path) as site:
        add(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    (tmp_path / "master.key").unlink()
    begun = subprocess.run(
        [sys.executable, "-m", "treewarden", command, "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | {"TREEWARDEN_PORT": "0"},
    )
    assert begun.returncode == 4
    assert "give the key file that this data folder was created with" in begun.stderr


def test_nobody_else_on_the_machine_reads_what_is_kept(tmp_path):
    folder = tmp_path / "treewarden-data"
    with running(folder):
        files = [path for path in folder.iterdir() if path.name.startswith("treewarden.db")]
        assert files
        assert not any(path.stat().st_mode & 0o077 for path in [folder, folder / "blobs", *files])


def test_the_administrator_that_was_made_can_begin(tmp_path):
    with running(tmp_path, "--create-admin", "root") as (_, told):
        assert re.search(r"^one-time password: \S{20}$", told, re.MULTILINE)
        assert re.search(r"^token: tw_\S{43}$", told, re.MULTILINE)
        until(lambda: enrolled(tmp_path, told))
