"""Strangers send 500 sign-ins at once while others read pages: memory of the server, and how long pages take.

Run as ``python -m benchmarks.service_sign_ins [--sign-ins 500] [--addresses 50] [--readers 10]``: a real server
process, which trusts this machine as its proxy, so that the sign-ins come from as many addresses as are asked for.
Pages are read before, meanwhile and after; the clients are threads on the same machine, so times are upper bounds.
Ends with 1 where the server took 150 MiB more, or the slowest hundredth of the pages one second.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

from tests.kit.service import serving, sites

PAGES = ("/", "/models", "/audits", "/releases")
MOST_MEBIBYTES = 150
MOST_SECONDS = 1.0


def main() -> int:
    """Measure on each database, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sign-ins", type=int, default=500)
    parser.add_argument("--addresses", type=int, default=50)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0, help="reading before and after")
    parser.add_argument("--databases", nargs="+", choices=("sqlite", "postgresql"))
    asked = parser.parse_args()
    is_worse = False
    for kind in asked.databases or ("sqlite", "postgresql"):
        if kind == "postgresql" and not sites.postgresql_is_there():
            print("postgresql    not here")
            continue
        with tempfile.TemporaryDirectory() as folder, sites.make_site(kind, Path(folder)) as site:
            is_worse |= measured(kind, site, asked)
    return int(is_worse)


def measured(kind, site, asked) -> bool:
    """Print what was measured, and return whether it was too much."""
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    token = sites.add_token(site, who)
    with serving.served(site) as (server, port):
        for path in PAGES:
            read(port, path, token)
        before = memory(server.pid, "VmRSS")
        quiet = read_for(port, token, asked.readers, until=time.monotonic() + asked.seconds)
        Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # forgets the peak so far
        flood = Flood(port, asked)
        meanwhile = read_for(port, token, asked.readers, flood=flood)
        peak = memory(server.pid, "VmHWM")
        after = read_for(port, token, asked.readers, until=time.monotonic() + asked.seconds)
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(flood.statuses.items()))
    print(f"{kind:<11} {asked.sign_ins} sign-ins in {flood.seconds:.1f} s: {statuses}")
    print(
        f"            memory {before:.0f} MiB before, {peak:.0f} at the peak: {peak - before:+.0f}"
    )
    for name, times in (("before", quiet), ("meanwhile", meanwhile), ("after", after)):
        if not times:
            print(f"            no page was answered {name}")
            continue
        found = sorted(times)
        median, late = (found[min(int(len(found) * s), len(found) - 1)] for s in (0.5, 0.99))
        print(
            f"            {len(found)} pages {name}: median {median:.3f} s, p99 {late:.3f} s, "
            f"slowest {found[-1]:.3f} s"
        )
    late = sorted(meanwhile)[int(len(meanwhile) * 0.99)] if meanwhile else float("inf")
    return peak - before > MOST_MEBIBYTES or late > MOST_SECONDS


class Flood:
    """Sends all sign-ins at once, each over a connection of its own."""

    def __init__(self, port, asked) -> None:
        self.statuses: Counter[int] = Counter()
        self.seconds = 0.0
        self._lock, self._began = threading.Lock(), time.monotonic()
        self._threads = [
            threading.Thread(target=self._send, args=(port, number, asked.addresses))
            for number in range(asked.sign_ins)
        ]
        for each in self._threads:
            each.start()

    def is_on(self) -> bool:
        if any(each.is_alive() for each in self._threads):
            self.seconds = time.monotonic() - self._began
            return True
        return False

    def _send(self, port, number, addresses) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        form = urlencode({"name": f"name {number}", "password": "a guess of a stranger"})
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": f"198.51.100.{number % addresses}",
        }
        connection.request("POST", "/sign-in", form, headers)
        answer = connection.getresponse()
        answer.read()
        with self._lock:
            self.statuses[answer.status] += 1
        connection.close()


def read_for(port, token, readers, until=0.0, flood=None) -> list[float]:
    """Have readers ask for pages until a time, or while a flood is on; return how long each took."""
    seconds: list[float] = []

    def read_on() -> None:
        number = 0
        while flood.is_on() if flood else time.monotonic() < until:
            seconds.append(read(port, PAGES[number % len(PAGES)], token))
            number += 1
            time.sleep(0.05)

    threads = [threading.Thread(target=read_on) for _ in range(readers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return seconds


def read(port, path, token) -> float:
    """Return how long a page took."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    began = time.perf_counter()
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    connection.close()
    return time.perf_counter() - began


def memory(pid, name) -> float:
    """Return what the system says of a process's memory, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
