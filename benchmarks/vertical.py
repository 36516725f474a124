"""Times parties who grow a tree together: played in one process, and met over TLS; beside plain ID3 on one table.

    python -m benchmarks.vertical --data FOLDER [--rounds 3]

Real sides are processes of this machine, started as commands, so that their times include all imports and handshakes.
"""

from __future__ import annotations

import argparse
import csv
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.studies.vertical_2008 import Joined, msweb, nursery, session_of
from benchmarks.tables import table
from treewarden.jobs.vertical.meeting import checked
from treewarden.ppdm_models.methods.vertical.party_view import plain_id3
from treewarden.ppdm_models.methods.vertical.session import Mode, Parties, Session, Stops
from treewarden.ppdm_models.methods.vertical.taking_part import play
from treewarden.ppdm_models.methods.vertical.transport import make_certificates

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""All sides share one machine here; with more threads each, they take the cores from each other."""
LEAST = 2
FEW = 6_000
"""So large a node of MSWeb has to be to be split where 10 parties compare: a few inner nodes, enough to time one."""
MANY = 10


def timed(rounds: int, do: Callable[[], object]) -> tuple[float, float]:
    """Return the median time of several rounds, and of what processors were busy for it, in seconds."""
    found = []
    for _ in range(rounds):
        began, used = time.perf_counter(), _used()
        do()
        found.append((time.perf_counter() - began, _used() - used))
    seconds, busy = zip(*found, strict=True)
    return statistics.median(seconds), statistics.median(busy)


def _used() -> float:
    """Return for how long processors were busy with this process and those that it waited for."""
    return sum(os.times()[:4])


def played(data: Joined, parties: int, mode: Mode, least: int = LEAST) -> None:
    """Play a session in this process."""
    session, holdings = session_of(data, parties, mode, Stops(least))
    play(session, holdings)


def met(data: Joined, parties: int, mode: Mode, least: int = LEAST) -> None:
    """Run a session between processes, and check its tree.

    Raises:
        RuntimeError: a side failed, or the tree is another one than plain ID3's.
    """
    session, holdings = session_of(data, parties, mode, Stops(least))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_certificates(folder / "certificates", ["miner", *session.parties])
        (folder / "session.toml").write_text(_file(session))
        columns = {}
        for own, holding in zip(session.parties, holdings, strict=True):
            columns[own] = {
                each.name: [each.categories[code] for code in each.codes]
                for each in holding.attributes
            }
            if holding.classes is not None:
                columns[own]["class"] = [data.labels[code] for code in holding.classes]
            _write(folder / f"{own}.csv", columns[own])
        _write(folder / "joined.csv", {name: of[name] for of in columns.values() for name in of})
        common = ["--session", "session.toml", "-q"]
        sides = [["miner", *common, "-o", "out"]]
        sides += [
            ["party", *common, "--name", own, "--data", f"{own}.csv"] for own in session.parties
        ]
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "treewarden", *each],
                cwd=folder,
                env=os.environ | ONE_THREAD,
                stdout=subprocess.DEVNULL,
            )
            for each in sides
        ]
        codes = [each.wait() for each in running]
        if any(codes):
            raise RuntimeError("a side failed; see above")
        who = Parties(session.parties, tuple(map(tuple, columns.values())))
        if not checked(folder / "joined.csv", folder / "out", who).is_same:
            raise RuntimeError("the tree is not that of plain ID3 on the joined table")


def _write(path: Path, columns: dict[str, list[str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _file(session: Session) -> str:
    with ExitStack() as stack:
        taken = [
            stack.enter_context(socket.create_server(("localhost", 0)))
            for _ in range(len(session.parties) + 1)
        ]
        ports = [each.getsockname()[1] for each in taken]
    lines = ['name = "benchmark"', f'mode = "{session.mode.value}"', f"records = {session.records}"]
    lines += ['target = "class"', f"classes = {list(session.classes)}", 'labelled = "p1"']
    lines += [f"min_records = {session.stops.min_records}", "seconds = 120"]
    lines += ["[miner]", 'host = "localhost"', f"port = {ports[0]}"]
    for name, own, port in zip(session.parties, session.ranks, ports[1:], strict=True):
        lines += ["[[party]]", f'name = "{name}"', 'host = "localhost"', f"port = {port}"]
        lines += [f"attributes = {len(own)}"]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.vertical", description=__doc__)
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--rounds", type=int, default=3)
    given = ask.parse_args()
    data = nursery(given.data)

    def plain() -> None:
        plain_id3(data.attributes, data.classes, len(data.labels), Stops(LEAST))

    plain()
    base, busy = timed(given.rounds, plain)
    rows = [("plain ID3 on the joined table", f"{base:.3f}", f"{busy:.3f}", "1")]
    for how, do in (
        ("played in one process", played),
        ("met over TLS, from start to end, and checked", met),
    ):
        for mode in Mode:
            seconds, busy = timed(given.rounds, lambda do=do, mode=mode: do(data, 3, mode))  # type: ignore[misc]
            what = f"3 parties, {mode.value}, {how}"
            rows.append((what, f"{seconds:.2f}", f"{busy:.2f}", f"{seconds / base:,.0f}"))
            print(rows[-1], flush=True)
    print(table(["Nursery, 320 inner nodes", "seconds", "busy", "times plain"], rows))
    wide = msweb(given.data)
    known = plain_id3(wide.attributes, wide.classes, len(wide.labels), Stops(FEW))
    alone, _ = timed(1, lambda: met(wide, MANY, Mode.IDS, len(wide.classes) + 1))
    some, _ = timed(1, lambda: met(wide, MANY, Mode.IDS, FEW))
    each = (some - alone) / known.skeleton.inner
    print(
        f"\nMSWeb, {MANY} parties, {known.skeleton.inner} inner nodes: {each:.2f} s a node, with the comparison"
    )
    print(f"\nMachine: {machine()}")


if __name__ == "__main__":
    main()
