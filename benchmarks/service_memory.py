"""How much memory a service holds that waits: its server, one worker, and what these started.

Run as ``python -m benchmarks.service_memory [--idle 5] [--wait 10]``: a real server with one slot, before its first
audit, just after it, and once the worker has freed what jobs need (``--idle`` seconds later; 120 unless set).
Memory is the sum of PSS: pages that processes share count once. Ends with 1 where idle memory is above 300 MB.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from treewarden.service.operations.demo import load

GOAL_MB = 300.0
SECONDS = 300


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=float, default=5.0)
    parser.add_argument("--wait", type=float, default=10.0)
    asked = parser.parse_args()
    environment = os.environ | {
        "TREEWARDEN_SLOTS": "1",
        "TREEWARDEN_LOG_LEVEL": "error",
        "TREEWARDEN_IDLE_SECONDS": str(asked.idle),
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "treewarden", "serve", "--data-dir", folder, "--port", "0"]
        with subprocess.Popen(
            [*command, "--create-admin", "ann"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                return measured(server, asked)
            finally:
                server.terminate()


def measured(server, asked) -> int:
    """Print the memory at three moments, and return whether idle memory misses the goal."""
    said = "".join(server.stdout.readline() for _ in range(3))
    address = re.search(r"http://\S+", said)[0]
    token = re.search(r"token: (\S+)", said)[1]
    time.sleep(asked.wait)
    before = show("before the first audit", server.pid)
    load(address, token)
    client = httpx.Client(
        base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
    )
    deadline = time.monotonic() + SECONDS
    while any(each["state"] in ("queued", "running") for each in audits(client)):
        if time.monotonic() > deadline:
            raise TimeoutError("the audit was not done")
        time.sleep(0.1)
    show("just after it", server.pid)
    time.sleep(asked.idle + asked.wait)
    after = show("idle again", server.pid)
    return int(max(before, after) > GOAL_MB)


def audits(client):
    return client.get("/audits?limit=50").raise_for_status().json()["items"]


def show(moment, number) -> float:
    """Print what each process of a service holds, and return the sum in MB."""
    held = [memory(each) for each in family(number)]
    print(f"{moment}: {sum(held):.0f} MB = " + " + ".join(f"{each:.0f}" for each in held))
    return sum(held)


def family(number) -> list[int]:
    """Return a process and all that it started."""
    files = Path(f"/proc/{number}/task").glob("*/children")
    children = [int(child) for file in files for child in file.read_text().split()]
    return [number, *(member for child in children for member in family(child))]


def memory(number) -> float:
    """Return the proportional set size of a process in MB."""
    text = Path(f"/proc/{number}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
