"""Kills and halts workers while they audit, and counts what became of the audits: lost, done twice, run again, fenced.

Run as ``python -m tests.judges.run_chaos [--audits 1000] [--kills 60] [--stops 8] [--database sqlite|postgresql]``:
three real ``treewarden worker`` processes and a ``treewarden serve`` with a worker beside it, leases of 3 s. Random
workers that do a job are killed by SIGKILL and begun anew, now and then the server with its worker, others are halted
by SIGSTOP for longer than a lease; then two workers are killed for good.
Prints a table; ends with 1 where an audit was lost or committed twice, a key or process was left, or two leases did
not do.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import audit, finding, job, job_event, log_entry
from treewarden.service.database.run_tables import report as report_table
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import UnavailableError
from treewarden.service.site import Site

LEASE_SECONDS = 3.0
HALT_LEASES = 1.6
"""So many leases long a worker is halted."""
WORKERS = 3
OF_THE_SERVER = 6
"""One kill in so many is that of the server."""
LAST = 24
"""Audits of the part in which two workers go for good."""
LOOK_SECONDS = 0.05
ENDING_SECONDS = 10.0
"""How long processes whose worker is gone have to notice that."""
PATIENCE_SECONDS = 240.0
"""How long nothing may get done before the rest counts as lost."""


@dataclass
class Fleet:
    """The processes of a service under test; what they log is one file each."""

    site: Site
    folder: Path
    lease: float
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    begun: int = 0

    def start(self, command: str, slots: int) -> subprocess.Popen[bytes]:
        """Start ``treewarden worker`` or ``serve``."""
        self.begun += 1
        log = self.folder / f"{command}-{self.begun}.log"
        with log.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "treewarden", command],
                env={**os.environ, **self._variables(), "TREEWARDEN_SLOTS": str(slots)},
                stdout=file,
                stderr=file,
            )

    def serve(self) -> None:
        """Start the server, with one worker beside it; the one that ran before is killed."""
        for each in self.servers[-1:]:
            each.kill()
            each.wait()
        self.servers.append(self.start("serve", 1))

    def add(self) -> None:
        """Start one worker more."""
        self.running.append(self.start("worker", 1))

    def remove(self, pid: int) -> None:
        """Kill a worker, and wait until it is gone."""
        each = next(each for each in self.running if each.pid == pid)
        each.kill()
        each.wait()
        self.running.remove(each)

    def said(self, words: str) -> int:
        """Return how many lines of all logs hold some words."""
        return sum(
            words in line
            for log in self.folder.glob("*.log")
            for line in log.read_text(errors="replace").splitlines()
        )

    def left(self) -> int:
        """Return how many processes of this service live on after a moment; zombies do not."""
        mark = f"TREEWARDEN_DATA_DIR={self.site.settings.data_dir}".encode()
        ends = time.monotonic() + ENDING_SECONDS
        while True:
            found = sum(_lives(folder, mark) for folder in Path("/proc").glob("[0-9]*"))
            if not found or time.monotonic() > ends:
                return found
            time.sleep(LOOK_SECONDS)

    def _variables(self) -> Mapping[str, str]:
        return {
            "TREEWARDEN_DATA_DIR": str(self.site.settings.data_dir),
            "TREEWARDEN_DATABASE": self.site.engine.url.render_as_string(hide_password=False),
            "TREEWARDEN_PORT": "0",
            "TREEWARDEN_LEASE_SECONDS": str(self.lease),
            "TREEWARDEN_HEARTBEAT_SECONDS": "1",
            "TREEWARDEN_POLL_SECONDS": "0.2",
            "PYTHONUNBUFFERED": "1",
        }


def _lives(folder: Path, mark: bytes) -> bool:
    with suppress(OSError):
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" and mark in (folder / "environ").read_bytes()
    return False


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--stops", type=int, default=8)
    parser.add_argument("--database", choices=sites.NAMES, default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no worker is left then
    found = chaos(asked.database, asked.audits, asked.kills, asked.stops, asked.seed)
    print(f"| {asked.database} | |\n|---|---|")
    for words, value in found.items():
        print(f"| {words} | {value:,} |" if isinstance(value, int) else f"| {words} | {value} |")
    return 0 if is_whole(found) else 1


def is_whole(found: Mapping[str, int | float]) -> bool:
    """Return whether nothing was lost, done twice or left, and two leases did."""
    zeros = (each for each in found if each.startswith(("lost", "committed twice", "left")))
    late = found["seconds until others had done what two lost workers held"]
    return not any(found[each] for each in zeros) and late <= 2 * LEASE_SECONDS


def chaos(
    kind: str,
    audits: int,
    kills: int,
    stops: int,
    seed: int = 1,
    last: int = LAST,
    lease: float = LEASE_SECONDS,
    workers: int = WORKERS,
) -> dict[str, int | float]:
    """Return what became of so many audits with so many workers killed and halted, in words."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    with tempfile.TemporaryDirectory() as name, sites.make_site(kind, Path(name)) as site:
        who = sites.add_account(site, sites.add_organisation(site), "ann")
        version = make.add_version(site, who)
        submit(site, who, version, audits)
        with _fleet(site, Path(name), lease, workers) as fleet:
            began = time.monotonic()
            _disturb(fleet, audits, kills, stops, chance)
            seconds = time.monotonic() - began
            submit(site, who, version, last)
            late, held = _two_gone(fleet, audits + last)
            logged = {
                "fenced off: late results": fleet.said("result fenced off"),
                "fenced off: leases found lost": fleet.said("lease lost"),
                "mistakes in the logs": fleet.said("a bug in treewarden"),
            }
        servers = len(fleet.servers) - 1
        found = {
            "audits": audits + last,
            "workers killed": kills - servers + 2,
            "servers killed": servers,
            "workers halted": stops,
        }
        return {
            **found,
            "seconds": round(seconds),
            **counted(site),
            **_problems(site),
            **logged,
            "left: processes": fleet.left(),
            "jobs that two lost workers held": held,
            "seconds until others had done what two lost workers held": round(late, 1),
        }


def submit(site: Site, who: Principal, version: str, number: int) -> None:
    """Queue audits, each of a table of its own."""
    for _ in range(number):
        make.queue_audit(site, who, version, make.add_upload(site, who))


@contextmanager
def _fleet(site: Site, folder: Path, lease: float, workers: int) -> Iterator[Fleet]:
    fleet = Fleet(site, folder, lease)
    try:
        fleet.serve()
        for _ in range(workers):
            fleet.add()
        yield fleet
    finally:
        for each in (*fleet.running, *fleet.servers):
            each.terminate()
        for each in (*fleet.running, *fleet.servers):
            each.wait()


AT_WORK = 4
"""So many audits are left when the last worker is killed or halted: somebody does them then."""


def _disturb(fleet: Fleet, audits: int, kills: int, stops: int, chance: random.Random) -> None:
    """Kill and halt workers, spread over the audits, until all are done."""
    doings = [*["kill"] * kills, *["halt"] * stops]
    chance.shuffle(doings)
    latest = min(0.95 * audits, max(audits - AT_WORK, 0))
    due = sorted((chance.uniform(0, latest), number) for number in range(len(doings)))
    halted: list[tuple[float, int]] = []
    for done in _progress(fleet, audits, lambda: _wake(halted)):
        busy = [pid for pid in _busy(fleet) if pid not in {pid for _, pid in halted}]
        if due and done >= due[0][0] and busy:
            number = due.pop(0)[1]
            pid = chance.choice(busy)
            if doings[number] == "kill" and number % OF_THE_SERVER == 0:
                fleet.serve()
            elif doings[number] == "kill":
                fleet.remove(pid)
                fleet.add()
            else:
                os.kill(pid, signal.SIGSTOP)
                halted.append((time.monotonic() + HALT_LEASES * fleet.lease, pid))
        if done >= audits and not halted:
            return


def _two_gone(fleet: Fleet, audits: int) -> tuple[float, int]:
    """Kill two workers that do jobs, for good, and wait until all is done; return what became of what these two held.

    That is after how long others had done it, and how many jobs they were.
    """
    killed, late, held = 0.0, float("inf"), list[str]()
    for done in _progress(fleet, audits, lambda: None):
        busy = _busy(fleet)
        if not killed and len(busy) >= 2:
            killed = time.monotonic()
            for pid in list(busy)[:2]:
                fleet.remove(pid)
            held = [busy[pid] for pid in list(busy)[:2]]
            held = [each for each in held if _state(fleet.site, each) == "running"]
        is_over = killed and all(_state(fleet.site, each) == "done" for each in held)
        if is_over and late == float("inf"):
            late = time.monotonic() - killed
        if done >= audits:
            break
    return late if held else 0.0, len(held)


def _progress(fleet: Fleet, audits: int, between: Callable[[], None]) -> Iterator[int]:
    """Yield how many audits have ended, until none ends any more."""
    last, moved = -1, time.monotonic()
    while time.monotonic() - moved < PATIENCE_SECONDS:
        between()
        with suppress(UnavailableError), fleet.site.reading() as unit:
            done = unit.connection.execute(
                select(func.count()).where(job.c.state.not_in(("queued", "running")))
            ).scalar_one()
            if done != last:
                last, moved = done, time.monotonic()
        yield last
        if last >= audits:
            moved = min(moved, time.monotonic() - PATIENCE_SECONDS + 2 * HALT_LEASES * fleet.lease)
        time.sleep(LOOK_SECONDS)


def _wake(halted: list[tuple[float, int]]) -> None:
    for each in [each for each in halted if each[0] <= time.monotonic()]:
        os.kill(each[1], signal.SIGCONT)
        halted.remove(each)


def _busy(fleet: Fleet) -> dict[int, str]:
    """Return the workers that do a job now, by process, and the job."""
    own = {each.pid for each in fleet.running}
    with fleet.site.reading() as unit:
        rows = unit.connection.execute(
            select(job.c.worker, job.c.id).where(job.c.state == "running")
        ).all()
    found = {int(row.worker.rpartition(":")[2]): row.id for row in rows}
    return {pid: each for pid, each in found.items() if pid in own}


def _state(site: Site, job_id: str) -> str:
    with site.reading() as unit:
        found: str = unit.connection.execute(
            select(job.c.state).where(job.c.id == job_id)
        ).scalar_one()
        return found


def counted(site: Site) -> dict[str, int | float]:
    """Return what the database and the vault say of all audits."""
    with site.reading() as unit:
        ask = unit.connection.execute
        audits = ask(select(audit)).all()
        attempts = ask(select(func.sum(job.c.attempt - 1))).scalar_one()
        failures = ask(select(func.sum(job.c.failures))).scalar_one()
        keys = ask(
            select(func.count()).where(blob.c.kind == "table", blob.c.sealed_key.is_not(None))
        ).scalar_one()
        tables = ask(select(func.count()).where(data_table.c.erased_at.is_(None))).scalar_one()
        ends = ask(select(job_event.c.job_id).where(job_event.c.kind.in_(("done", "error"))))
        logged = ask(select(log_entry.c.object_id).where(log_entry.c.action.like("audit.%")))
        events, entries = Counter(ends.scalars()), Counter(logged.scalars())
        reports = Counter(ask(select(report_table.c.audit_id)).scalars())
        findings = Counter(ask(select(finding.c.audit_id)).scalars())
        live = set(ask(select(blob.c.id).where(blob.c.sealed_key.is_not(None))).scalars())
    files = {path.name.rpartition("-")[2] for path in site.vault.folder.glob("*/*")}
    done = [each for each in audits if each.state == "done"]
    results = {len(each.entry["results"]) if each.entry else 0 for each in done}
    return {
        "done": len(done),
        "lost: neither done nor an error": sum(
            each.state not in ("done", "error") for each in audits
        ),
        "ended in an error": sum(each.state == "error" for each in audits),
        "committed twice: end events": sum(count > 1 for count in events.values()),
        "committed twice: log rows": sum(count > 1 for count in entries.values()),
        "committed twice: reports": sum(reports[each.id] != max(reports.values()) for each in done),
        "committed twice: findings": sum(findings[each.id] not in results for each in done),
        "lost: log rows": sum(entries[each.id] == 0 for each in done),
        "run again": int(attempts or 0),
        "processes that died alone": int(failures or 0),
        "left: keys of tables": keys,
        "left: tables": tables,
        "lost: files of reports": len(live - files),
        "files without a row, for the sweep": len(files - live),
    }


def _problems(site: Site) -> dict[str, int | float]:
    """Return how many audits ended in which error."""
    with site.reading() as unit:
        said = unit.connection.execute(select(audit.c.problem).where(audit.c.state == "error"))
        return {f"error: {words}": count for words, count in Counter(said.scalars()).items()}


if __name__ == "__main__":
    sys.exit(main())
