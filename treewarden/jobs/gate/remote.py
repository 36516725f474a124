"""Asks a treewarden service whether a file may be released, and waits until that is decided."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage, InvalidURL
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from treewarden.audit.progress import Step, silent
from treewarden.ppdm_models.errors import TreewardenError, reading_problem

EXITS = {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3, "NO AUDIT": 4}
MOST_BYTES = 64 * 2**20
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 15.0
TIMEOUT_SECONDS = 30.0
PASSING_TROUBLE = frozenset({429, 500, 502, 503, 504})
"""Answers after which it is worth asking again: the service may be starting anew."""


LATER = "run the same command again later, or wait longer: --wait SECONDS"


class RemoteError(TreewardenError):
    """The service cannot be reached, does not know who asks, or answers what is not understood."""


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """What is about to be published, which service is asked about it, and by whom.

    The bytes are those of ``file``, or known by their ``sha256`` alone. ``release`` names one release; without it, the
    service looks for the newest one of these bytes.
    """

    server: str
    token: str = field(repr=False)
    release: str | None = None
    file: Path | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the service says: ``exit_code`` is what the pipeline ends with."""

    outcome: str
    exit_code: int
    why: str
    model: str = ""
    version: int = 0
    digest: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """What is printed."""
        what = f"{self.model}, version {self.version}" if self.model else "the file"
        digest = (f"  sha256 {self.digest}",) if self.digest else ()
        return (f"{self.outcome}: {what}: {self.why}", *digest)


def mute(text: str) -> None:
    """Say nothing of what is waited for."""


def ask(
    question: RemoteRequest,
    wait_seconds: float,
    step: Step = silent,
    pause: Callable[[float], object] = time.sleep,
    say: Callable[[str], object] = mute,
) -> Answered:
    """Return what the service says, at the latest after ``wait_seconds``: what is undecided then is no pass.

    ``say`` is told what is waited for, whenever that is something else than before.

    Raises:
        RemoteError: there is no answer that can be relied on.
    """
    digest = question.sha256 or (None if question.file is None else _digest(question.file))
    address = _address(question, digest)
    ends, seconds, last = time.monotonic() + wait_seconds, FIRST_PAUSE_SECONDS, ""
    with step(f"asking {question.server}"):
        while True:
            left = ends - time.monotonic()
            try:
                said = _ask_service(address, question.token)
            except _PassingError as error:
                if left <= 0:
                    raise RemoteError(question.server, error.problem) from error
                why = f"the service {error.problem}"
            else:
                if not said["pending"]:
                    return _checked(said, digest, question)
                why = said["why"]
                if left <= 0:
                    late = f"not decided within {wait_seconds:g} seconds ({why}); {LATER}"
                    return Answered("UNDETERMINED", EXITS["UNDETERMINED"], late)
            if why != last:
                say(f"waiting: {why}")
            last = why
            pause(max(0.0, min(seconds, left)))
            seconds = min(seconds * 1.5, LONGEST_PAUSE_SECONDS)


class _PassingError(Exception):
    """Trouble that may pass."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a token is for one server."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def _address(question: RemoteRequest, digest: str | None) -> str:
    """Return where the gate of the release, or of the bytes, is.

    Raises:
        RemoteError: the server's address is none, or would have the token sent in clear.
    """
    where, advice = "--server", "give an address such as https://treewarden.example.org"
    try:
        found = urlsplit(question.server)
        host = found.hostname or ""
    except ValueError as error:
        raise RemoteError(where, f"not an address; {advice}") from error
    if found.scheme not in ("http", "https") or not host or found.query or found.fragment:
        raise RemoteError(where, f"not an address; {advice}")
    if found.username is not None or found.password is not None:
        raise RemoteError(
            where,
            f"the address contains a name or a password; {advice}, and the token with --token",
        )
    if found.scheme == "http" and not _is_here(host):
        raise RemoteError(where, "http would send the token unencrypted; give an https address")
    api = f"{question.server.rstrip('/')}/api/v1"
    if question.release is not None:
        return f"{api}/releases/{quote(question.release, safe='')}/gate"
    if digest is None:
        raise RemoteError(
            "gate",
            "no release and no file is named; give the file that you publish: treewarden gate --server URL FILE",
        )
    return f"{api}/gate?sha256={quote(digest, safe='')}"


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _ask_service(address: str, token: str) -> Mapping[str, Any]:
    request = urllib.request.Request(
        address, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}
    )
    try:
        with _opener(address).open(request, timeout=TIMEOUT_SECONDS) as got:
            data = got.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        problem = f"answered {error.code}{_detail(error)}"
        if error.code in PASSING_TROUBLE:
            raise _PassingError(problem) from error
        raise RemoteError(address, problem) from error
    except InvalidURL as error:
        raise RemoteError("--server", "not an address; check its host and port") from error
    except (OSError, HTTPException) as error:
        raise _PassingError(f"cannot be reached ({_reason(error)}); is it running?") from error
    except ValueError as error:  # a token with a line break, for instance
        raise RemoteError(
            "--token", "not a token; create one on the service's page “Tokens”"
        ) from error
    return _understood(data, address)


def _opener(address: str) -> urllib.request.OpenerDirector:
    """Return what opens an address; without TLS never through a proxy, which would read the token."""
    if urlsplit(address).scheme == "http":
        return urllib.request.build_opener(_StayHere, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(_StayHere)


def _understood(data: bytes, address: str) -> Mapping[str, Any]:
    try:
        said = json.loads(data) if len(data) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        said = None
    wanted = {
        "release_id": str | None,
        "pending": bool,
        "why": str,
        "outcome": str,
        "model": str,
        "version": int,
        "digest": str,
    }
    if not isinstance(said, dict) or not all(
        isinstance(said.get(key), kind) for key, kind in wanted.items()
    ):
        raise RemoteError(address, "the answer is not one of a treewarden service; check --server")
    return said


def _checked(body: Mapping[str, Any], digest: str | None, question: RemoteRequest) -> Answered:
    """Return an answer that agrees with itself, with what was asked, and with the file.

    Raises:
        RemoteError: it is about another release or file, or its exit code is not that of its outcome.
    """
    if question.release not in (None, body["release_id"]):
        raise RemoteError(
            question.server,
            "the answer is about another release, so it is not used; check --server and --release",
        )
    outcome, code = body["outcome"], body.get("exit_code")
    if EXITS.get(outcome) != code or not isinstance(code, int) or isinstance(code, bool):
        raise RemoteError(
            question.server,
            f"the service's answer contradicts itself ({outcome!r} with exit code {code!r}), so it is "
            "ignored; update the service and treewarden to the same version",
        )
    if code == 0 and body["release_id"] is None:
        raise RemoteError(
            question.server,
            "the service answered PASS but named no approved release, so the answer is ignored; update the service "
            "and treewarden to the same version",
        )
    found = Answered(outcome, code, body["why"], body["model"], body["version"], body["digest"])
    if digest is None or digest == found.digest:
        return found
    if question.release is None:
        raise RemoteError(
            question.server, "the answer is about another file, so it is not used; check --server"
        )
    name = "this" if question.file is None else question.file.name
    why = (
        f"{name} is not the file that was audited (its SHA-256 is {digest}); publish the audited "
        "file, or request an audit of this one"
    )
    return Answered("FAIL", EXITS["FAIL"], why, found.model, found.version, found.digest)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise RemoteError(
            str(file), reading_problem(error, "give the file that is published")
        ) from error


def _detail(error: urllib.error.HTTPError) -> str:
    """Return what the service says about its refusal, as far as it is one of ours."""
    with suppress(OSError, ValueError, HTTPException, RecursionError):
        said = json.loads(error.read(100_000))
        if isinstance(said, dict) and isinstance(said.get("detail"), str):
            return f": {said['detail'][:300]}"
    return ""


def _reason(error: OSError | HTTPException) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or type(reason).__name__
