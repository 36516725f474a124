"""The application in a process of its own, for what only a real connection can show."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx

PROGRAM = """
import socket, sys
import uvicorn
from treewarden.service.running import application
from treewarden.service.operations.observability import log_as_json
from treewarden.service.settings import Settings
from treewarden.service.site import open_site

log_as_json("warning")
site = open_site(Settings(data_dir=sys.argv[1], database=sys.argv[2]))
config = uvicorn.Config(application(site), http="h11", log_level="warning", lifespan="off")
uvicorn.Server(config).run([socket.socket(fileno=int(sys.argv[3]))])
"""
SECONDS = 60


@contextmanager
def served(site):
    """Give the process that serves a site, and its port; killed afterwards."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = site.engine.url.render_as_string(hide_password=False)
    arguments = [str(site.settings.data_dir), url, str(listening.fileno())]
    with listening:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], pass_fds=[listening.fileno()]
        )
        port = listening.getsockname()[1]
    try:
        answered(port)
        yield process, port
    finally:
        process.kill()
        process.wait()


def answered(port):
    """Wait until a server answers."""
    httpx.get(f"http://127.0.0.1:{port}/api/v1/openapi.json", timeout=SECONDS)


def until(holds):
    """Wait until something holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, "waited for long enough"
        time.sleep(0.01)
