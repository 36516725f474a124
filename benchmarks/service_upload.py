"""Streams one large table into a served vault, and tells how the memory of the server grows meanwhile.

Run as ``python -m benchmarks.service_upload [--mebibytes 1024] [--most-growth 20]``: a real uvicorn process on SQLite
in a temporary folder, one upload by PUT after a small one that has everything loaded.
Resident memory is read from /proc every 50 ms and is that of the server alone. Ends with 1 where it grows by more.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.kit.service import serving, sites

MEBIBYTE = 2**20
PIECE = os.urandom(64 * 1024)
EVERY_SECONDS = 0.05


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--most-growth", type=float, default=20.0, help="in MB; more is a failure")
    asked = parser.parse_args()
    size = asked.mebibytes * MEBIBYTE
    with tempfile.TemporaryDirectory() as folder, sites.make_site("sqlite", Path(folder)) as site:
        who = sites.add_account(site, sites.add_organisation(site), "ann", "submitter")
        token = sites.add_token(site, who)
        with serving.served(site) as (process, port):
            put(port, token, MEBIBYTE)  # whatever is loaded at first use is no growth
            before = resident(process.pid)
            with Watching(process.pid) as watching:
                started = time.perf_counter()
                status = put(port, token, size)
                seconds = time.perf_counter() - started
        kept = sum(path.stat().st_size for path in site.vault.folder.rglob("*") if path.is_file())
    growth = (watching.peak - before) / 1e6
    print(f"upload        {asked.mebibytes} MiB, status {status}, {seconds:.1f} s")
    print(f"kept          {kept / MEBIBYTE:.1f} MiB sealed")
    print(f"memory        {before / 1e6:.1f} MB before, {watching.peak / 1e6:.1f} MB at most")
    print(f"growth        {growth:.1f} MB (bar: {asked.most_growth:g})")
    return 0 if status == 201 and growth <= asked.most_growth else 1


def put(port: int, token: str, size: int) -> int:
    """Send as many bytes, and return the status of the answer."""
    digest = hashlib.sha256()
    for piece in pieces(size):
        digest.update(piece)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    headers = {"Authorization": f"Bearer {token}", "Content-Length": str(size)}
    path = f"/api/v1/blobs/{digest.hexdigest()}?kind=table"
    connection.request("PUT", path, body=pieces(size), headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def pieces(size: int) -> Iterator[bytes]:
    """Yield so many bytes."""
    for start in range(0, size, len(PIECE)):
        yield PIECE[: size - start]


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Watching:
    """The most resident memory that a process has while this context lasts."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self._over = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak = max(self.peak, resident(self.pid))
            if self._over.wait(EVERY_SECONDS):
                return


if __name__ == "__main__":
    sys.exit(main())
