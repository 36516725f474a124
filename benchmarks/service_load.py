"""Fifty people read a service's pages and lists while two workers audit: how long they wait, and what fails.

Run as ``python -m benchmarks.service_load [--clients 50] [--seconds 60] [--pause 1.0] [--databases sqlite]``:
a real server process and two real worker processes, enough audits queued to keep them busy. Each client keeps its
connection, asks for one address after the other, and pauses at random between two, ``--pause`` seconds on average.
Times are those of the clients, on the same machine, so they hold the clients' own work too: upper bounds.
Beside them stands what the server took of a processor for each request, which other work on the machine changes less.
Ends with 1 where an answer was no success, or the slowest hundredth took 250 ms.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from tests.kit.service import serving, sites, work_to_do
from treewarden.service.database.run_tables import audit

WORKERS = 2
GOAL_MS = 250.0
PAGES = ("/", "/models", "/audits", "/releases", "/waivers", "/packs", "/audits/{audit}")
LISTS = (
    "/api/v1/me",
    "/api/v1/models?limit=50",
    "/api/v1/audits?limit=50",
    "/api/v1/releases",
    "/api/v1/audits/{audit}",
    "/api/v1/audits/{audit}/findings",
)


@dataclass
class Seen:
    """What the clients saw: seconds by address, and whatever was no success."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    server_seconds: float = 0.0


def main() -> int:
    """Measure on each database, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--databases", nargs="+", choices=sites.NAMES, default=list(sites.NAMES))
    asked = parser.parse_args()
    is_worse = False
    for kind in asked.databases:
        if kind == "postgresql" and not sites.postgresql_is_there():
            print("postgresql    not here")
            continue
        with tempfile.TemporaryDirectory() as folder, sites.make_site(kind, Path(folder)) as site:
            seen, done = measured(site, asked)
        is_worse |= told(kind, asked, seen, done)
    return int(is_worse)


def measured(site, asked):
    """Return what was seen, and how many audits were done meanwhile."""
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    token = sites.add_token(site, who)
    version = work_to_do.add_version(site, who)
    table = work_to_do.add_upload(site, who)
    ids = [work_to_do.queue_audit(site, who, version, table) for _ in range(asked.audits)]
    url = site.engine.url.render_as_string(hide_password=False)
    environment = os.environ | {
        "TREEWARDEN_DATA_DIR": str(site.settings.data_dir),
        "TREEWARDEN_DATABASE": url,
        "TREEWARDEN_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "treewarden", "worker", "--slots", "1"]
    workers = []
    try:
        with serving.served(site) as (server, port):
            workers += [subprocess.Popen(command, env=environment) for _ in range(WORKERS)]
            serving.until(lambda: number_done(site) > 0)
            read_once(port, token, ids[0])
            before, busy = number_done(site), processor_seconds(server.pid)
            seen = read(port, token, ids, asked)
            seen.server_seconds = processor_seconds(server.pid) - busy
            done = number_done(site) - before
    finally:
        for each in workers:
            each.terminate()
        for each in workers:
            each.wait()
    return seen, done


def read_once(port, token, audit_id):
    """Ask for each address once, so that whatever is loaded or made at first use is no part of the figures."""
    for path in PAGES + LISTS:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", path.format(audit=audit_id), headers=headers)
        connection.getresponse().read()
        connection.close()


def read(port, token, ids, asked):
    """Have all clients read until the time is up."""
    seen, stop, lock = Seen(), time.monotonic() + asked.seconds, threading.Lock()
    threads = [
        threading.Thread(target=client, args=(n, port, token, ids, asked.pause, stop, seen, lock))
        for n in range(asked.clients)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return seen


def client(number, port, token, ids, pause, stop, seen, lock):
    """Read one address after the other over one connection."""
    chance = random.Random(number)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"}
    while time.monotonic() < stop:
        time.sleep(chance.uniform(0, 2 * pause))
        path = chance.choice(PAGES + LISTS)
        started = time.perf_counter()
        try:
            connection.request("GET", path.format(audit=chance.choice(ids)), headers=headers)
            answer = connection.getresponse()
            answer.read()
            problem = "" if answer.status == 200 else str(answer.status)
        except (OSError, http.client.HTTPException) as error:
            problem = type(error).__name__
            connection.close()
        seconds = time.perf_counter() - started
        with lock:
            seen.seconds[path].append(seconds)
            if problem:
                seen.errors.append(f"{path}: {problem}")


def processor_seconds(pid):
    """Return what a process has had of a processor, by all threads that it ever had."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def number_done(site):
    with site.reading() as unit:
        counted = select(func.count()).where(audit.c.state == "done")
        return unit.connection.execute(counted).scalar_one()


def told(kind, asked, seen, done):
    """Print what was seen, and return whether something failed or was too slow."""
    every = sorted(each for some in seen.seconds.values() for each in some)
    print(
        f"{kind}: {asked.clients} clients, {asked.seconds:g} s, {len(every)} requests, "
        f"{len(seen.errors)} errors, {done} audits done meanwhile by {WORKERS} workers"
    )
    print(f"{'ms':34} {'number':>7} {'median':>8} {'p95':>8} {'p99':>8} {'most':>8}")
    for name, some in [*sorted(seen.seconds.items()), ("all", every)]:
        values = sorted(some)
        figures = [values[min(int(len(values) * share), len(values) - 1)] for share in SHARES]
        print(f"{name:34} {len(values):7}" + "".join(f" {1000 * each:8.1f}" for each in figures))
    spent = 1000 * seen.server_seconds / max(len(every), 1)
    print(f"the server took {spent:.1f} ms of a processor for each request")
    for each in sorted(set(seen.errors)):
        print(f"error {each}, {seen.errors.count(each)} times")
    late = 1000 * every[min(int(len(every) * 0.99), len(every) - 1)] if every else float("inf")
    return bool(seen.errors) or late >= GOAL_MS


SHARES = (0.5, 0.95, 0.99, 1.0)


if __name__ == "__main__":
    sys.exit(main())
