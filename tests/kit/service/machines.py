"""Another machine for a test: a network of its own, and nothing of the server's folder."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from uuid import uuid4

import pytest


class Machine:
    """A network namespace whose only neighbour is this machine, at ``address``."""

    def __init__(self, name, address):
        self._name, self.address = name, address

    def start(self, command, hidden, **options):
        """Start a command there, with something empty in the place of a folder."""
        hide = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
        inside = ["unshare", "--mount", "sh", "-c", hide, str(hidden), *command]
        return subprocess.Popen(["ip", "netns", "exec", self._name, *inside], **options)


@contextmanager
def another_machine():
    """Give a machine, gone afterwards; skip where this user may make none."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("a network namespace needs root and the command ip")
    name, link = f"treewarden-{uuid4().hex[:8]}", f"tw{uuid4().hex[:8]}"
    third, fourth = os.getpid() // 64 % 256, os.getpid() % 64 * 4
    here, there = (f"10.231.{third}.{fourth + more}" for more in (1, 2))
    try:
        try:
            for said in (
                f"netns add {name}",
                f"link add {link}a type veth peer name {link}b netns {name}",
                f"addr add {here}/30 dev {link}a",
                f"link set {link}a up",
                f"-n {name} addr add {there}/30 dev {link}b",
                f"-n {name} link set {link}b up",
                f"-n {name} link set lo up",
            ):
                subprocess.run(["ip", *said.split()], check=True, capture_output=True)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace may be made here ({error.stderr.decode().strip()})")
        yield Machine(name, here)
    finally:
        for said in (f"link del {link}a", f"netns del {name}"):
            subprocess.run(["ip", *said.split()], check=False, capture_output=True)


@contextmanager
def forwarded(address, port):
    """Give a port at an address of this machine that leads to one of its inner ones."""
    with socket.create_server((address, 0)) as listener:
        threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener, port):
    with suppress(OSError):  # closed at the end
        while True:
            outer, _ = listener.accept()
            threading.Thread(target=_relay, args=(outer, port), daemon=True).start()


def _relay(outer, port):
    """Pass on what either side says, until one of them ends."""
    with suppress(OSError), outer, socket.create_connection(("127.0.0.1", port)) as inner:
        other = {outer: inner, inner: outer}
        while True:
            for side in select.select(list(other), [], [])[0]:
                data = side.recv(65536)
                if not data:
                    return
                other[side].sendall(data)
