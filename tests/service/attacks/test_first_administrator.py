"""``serve --create-admin`` where nothing can be served: it makes nobody."""

import fcntl
import os
import socket
import subprocess
import sys

import pytest
from sqlalchemy import select

from tests.kit.service import sites
from tests.kit.service.serving import SECONDS
from treewarden.service.database.tables import account, token

pytestmark = pytest.mark.processes


def begun(site, port):
    command = [sys.executable, "-m", "treewarden", "serve", "--create-admin", "eve"]
    return subprocess.run(
        [*command, "--data-dir", str(site.settings.data_dir), "--port", str(port)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | {"TREEWARDEN_SLOTS": "0"},
    )


def made(site):
    with site.reading() as unit:
        return [unit.connection.execute(select(each.c.id)).all() for each in (account, token)]


def test_a_folder_in_use_gets_no_administrator(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site, (tmp_path / "serve.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = begun(site, 0)
        assert made(site) == [[], []]
    assert done.returncode == 4
    assert "another server is using it" in done.stderr
    assert done.stdout == ""


def test_a_port_in_use_makes_no_administrator(tmp_path):
    with (
        sites.make_site("sqlite", tmp_path) as site,
        socket.create_server(("127.0.0.1", 0)) as taken,
    ):
        done = begun(site, taken.getsockname()[1])
        assert made(site) == [[], []]
    assert done.returncode == 4
    assert "choose another --port" in done.stderr
    assert done.stdout == ""
