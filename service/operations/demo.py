"""Runs a service to try: ``python -m treewarden.service.operations.demo FOLDER`` serves it, with a tree and its table.

What is in it came there as anybody's would, by the API. A folder that holds a service already is served as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from treewarden.jobs.demo import SENSITIVE, survey
from treewarden.ppdm_models.files.load import writers
from treewarden.service.errors import UnavailableError

ADMINISTRATOR = "ada"
REVIEWER = "rita"
POLICY = "strict"
SECONDS = 120.0


def main(folder: Path) -> int:
    """Serve until interrupted, and return the exit code of the server."""
    is_new = not (folder / "treewarden.db").exists()
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "treewarden", "serve", "--data-dir", str(folder)]
    if is_new:
        command += ["--create-admin", ADMINISTRATOR]
    environment = {"TREEWARDEN_LOG_LEVEL": "warning"} | os.environ
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        try:
            said = _printed_lines(server)
            if "http" in said:
                if is_new:
                    password = load(said["http"], said["token"])
                    print(f"sign in as {ADMINISTRATOR}: {said['one-time password']}")
                    print(f"a second person to review, {REVIEWER}: {password}")
                else:
                    print(
                        f"this is the state in which it was left. To start afresh: rm -r {folder}"
                    )
                print(said["http"], flush=True)
            return server.wait()
        except KeyboardInterrupt:
            server.send_signal(signal.SIGINT)
            with contextlib.suppress(KeyboardInterrupt):
                server.wait()
            return 0
        finally:
            server.terminate()


def load(address: str, token: str) -> str:
    """Load the survey's tree and table, have them audited, and return the one-time password of a reviewer.

    Raises:
        UnavailableError: the server refused something.
    """
    data = survey()
    tree = writers()["pmml"].write(data.tree)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=SECONDS) as client:
        model = _sent(client, "POST", "/models", {"name": "Marriage survey"})
        digest = _uploaded(client, "model", tree)
        asked = {"digest": digest, "file_name": "survey.pmml"}
        version = _sent(client, "POST", f"/models/{model['id']}/versions", asked)
        digest = _uploaded(client, "table", data.csv)
        table = _sent(client, "POST", "/tables", {"digest": digest, "file_name": "survey.csv"})
        audit = {"model_version_id": version["id"], "table_id": table["id"], "pack": POLICY}
        _sent(client, "POST", "/audits", audit | {"options": {"sensitive": SENSITIVE}})
        made = _sent(client, "POST", "/accounts", {"name": REVIEWER, "role": "reviewer"})
    return str(made["password"])


def _uploaded(client: httpx.Client, kind: str, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    _check(client.put(f"/blobs/{digest}", params={"kind": kind}, content=data))
    return digest


def _sent(client: httpx.Client, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.request(method, path, json=body)
    _check(answer)
    found: dict[str, Any] = answer.json()
    return found


def _check(answer: httpx.Response) -> None:
    if answer.is_error:
        problem = f"answered {answer.status_code}: {answer.text[:500]}"
        raise UnavailableError(answer.request.url.path, problem)


def _printed_lines(server: subprocess.Popen[str]) -> dict[str, str]:
    """Return what a server prints when it starts, its address last; without it, it has ended."""
    found: dict[str, str] = {}
    for line in server.stdout or ():
        if line.startswith("http"):
            return found | {"http": line.strip()}
        name, _, value = line.strip().partition(": ")
        found[name] = value
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
