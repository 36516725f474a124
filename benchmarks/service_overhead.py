"""How much longer an audit takes in the service than as a command: the same tree, table, policy and reports.

Run as ``python -m benchmarks.service_overhead --data FOLDER [--rounds 3]``: a tree of the study of Zhu & Du 2010 on
Adult is audited by a worker of a service on SQLite and by ``treewarden audit``, in turn. Seconds are wall time, so the
machine should be idle; of the service they are from when the job was taken to when its reports were stored.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report_cases import SENSITIVE, study
from tests.kit.service import serving, sites, work_to_do

PACK = "standard"
TREE = ("gini", 30)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (case,) = study(asked.data, folder, [TREE])
        model, table = folder / case.arguments[1], folder / case.arguments[3]
        with sites.make_site("sqlite", folder / "site") as site:
            pairs = measured(site, model, table, asked.rounds)
    service, command = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(f"in the service {service:.2f} s, as a command {command:.2f} s: {service / command:.2f}")


def measured(site, model, table, rounds):
    """Return the seconds of each round, in the service and as a command; the first audit, which loads, is left out."""
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    version = work_to_do.add_version(site, who, model.read_bytes(), model.name)
    environment = os.environ | {
        "TREEWARDEN_DATA_DIR": str(site.settings.data_dir),
        "TREEWARDEN_DATABASE": site.engine.url.render_as_string(hide_password=False),
        "TREEWARDEN_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "treewarden", "worker", "--slots", "1"]
    with subprocess.Popen(command, env=environment) as worker:
        try:
            in_service(site, who, version, table)
            return [
                (in_service(site, who, version, table), as_command(model, table))
                for _ in range(rounds)
            ]
        finally:
            worker.terminate()


def in_service(site, who, version, table):
    """Return how long a worker had an audit; a table is sent for each, as it is erased after it."""
    upload = work_to_do.add_upload(site, who, table.read_bytes(), table.name)
    options = {"sensitive": SENSITIVE, "worlds_budget": 20}
    made = work_to_do.queue_audit(site, who, version, upload, pack=PACK, **options)

    def job():
        (row,) = work_to_do.read_jobs(site, made)
        return row

    serving.until(lambda: job().finished_at is not None)
    if job().state != "done":
        raise RuntimeError(f"the audit ended as {job().state}: {job().problem}")
    return (job().finished_at - job().started_at).total_seconds()


def as_command(model, table):
    """Return how long the command takes."""
    words = ["audit", str(model), "--data", str(table), "--sensitive", SENSITIVE, "--policy", PACK]
    with tempfile.TemporaryDirectory() as folder:
        for form in ("json", "html"):
            words += ["--format", f"{form}={folder}/audit.{form}"]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "treewarden", *words, "--quiet"], stdout=subprocess.DEVNULL
        )
        seconds = time.perf_counter() - began
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"the command ended with {done.returncode}")
    return seconds


if __name__ == "__main__":
    main()
