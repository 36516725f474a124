import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from treewarden.cli import cli
from treewarden.jobs.gate.remote import RemoteError, RemoteRequest, ask

TOKEN = "tw_secret"
RELEASE = "0" * 32
PASSES = {
    "release_id": RELEASE,
    "pending": False,
    "outcome": "PASS",
    "exit_code": 0,
    "why": "approved",
    "model": "loans",
    "version": 2,
    "digest": hashlib.sha256(b"model").hexdigest(),
}
WAITS = {**PASSES, "pending": True, "outcome": "PENDING", "exit_code": None, "why": "waits"}


@contextmanager
def a_service(*answers):
    """Serve answers, one after the other and the last one again and again: a status with a body, or a body."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = answers[min(len(asked), len(answers) - 1)]
            asked.append((self.path, self.headers["Authorization"]))
            status, body = answer if isinstance(answer, tuple) else (200, answer)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"/elsewhere/{RELEASE}")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run(server, *more, token=TOKEN):
    what = [] if more and more[0].endswith(".pmml") else ["--sha256", PASSES["digest"]]
    command = ["gate", "--server", server, "--release", RELEASE, *what, *more]
    return CliRunner(env={"TREEWARDEN_TOKEN": token}).invoke(cli, command)


@pytest.mark.parametrize(
    ("outcome", "code"), [("PASS", 0), ("FAIL", 1), ("UNDETERMINED", 3), ("NO AUDIT", 4)]
)
def test_a_pipeline_ends_with_the_exit_code_of_the_gate(outcome, code):
    with a_service({**PASSES, "outcome": outcome, "exit_code": code}) as (server, asked):
        done = run(server)
    assert done.exit_code == code
    assert done.stdout.startswith(f"{outcome}: loans, version 2: approved")
    assert asked == [(f"/api/v1/releases/{RELEASE}/gate", f"Bearer {TOKEN}")]
    assert TOKEN not in done.output


def test_an_answer_about_another_release_is_no_pass():
    with a_service({**PASSES, "release_id": "1" * 32}) as (server, _):
        done = run(server)
    assert done.exit_code == 4
    assert "another release" in done.output


def test_what_is_pending_is_waited_for():
    pauses = []
    with a_service(WAITS, (503, b""), WAITS, PASSES) as (server, asked):
        found = ask(RemoteRequest(server, TOKEN, RELEASE), 1000, pause=pauses.append)
    assert found.exit_code == 0
    assert len(asked) == 4
    assert pauses == sorted(pauses)


def test_what_is_not_decided_in_time_is_no_pass():
    with a_service(WAITS) as (server, _):
        done = run(server, "--wait", "0")
    assert done.exit_code == 3
    assert "not decided within 0 seconds (waits)" in done.stdout


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"detail": "token: is unknown"}), "answered 401: token: is unknown"),
        ((404, b"<html>"), "answered 404"),
        ((302, b""), "answered 302"),
        ((200, b"<html>"), "the answer is not one of a treewarden service"),
        ((200, {**PASSES, "exit_code": 3}), "so it is ignored"),
        ((200, {**PASSES, "outcome": "FAIL"}), "so it is ignored"),
        ((200, {**PASSES, "exit_code": False}), "so it is ignored"),
        ((200, {**PASSES, "outcome": "OK"}), "so it is ignored"),
        ((200, [1]), "the answer is not one of a treewarden service"),
    ],
)
def test_what_cannot_be_relied_on_is_no_audit(answer, said):
    with a_service(answer) as (server, asked):
        done = run(server, "--wait", "0")
    assert done.exit_code == 4
    assert said in done.stderr
    assert len(asked) == 1


def test_a_service_that_is_not_there_is_no_audit():
    with a_service(PASSES) as (server, _):
        pass
    done = run(server, "--wait", "0")
    assert done.exit_code == 4
    assert "cannot be reached" in done.stderr


def test_the_file_that_is_published_has_to_be_the_one_that_was_audited(tmp_path):
    own, other = tmp_path / "own.pmml", tmp_path / "other.pmml"
    own.write_bytes(b"model")
    other.write_bytes(b"another model")
    with a_service(PASSES) as (server, _):
        assert run(server, str(own)).exit_code == 0
        changed = run(server, str(other))
        missing = run(server, str(tmp_path / "none.pmml"))
    assert changed.exit_code == 1
    assert "other.pmml is not the file that was audited" in changed.stdout
    assert missing.exit_code == 4


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("http://treewarden.example.org", "would send the token unencrypted"),
        ("ftp://127.0.0.1", "not an address"),
        ("nothing", "not an address"),
        ("http://[", "not an address"),
    ],
)
def test_a_token_goes_nowhere_in_clear(server, said):
    done = run(server)
    assert done.exit_code == 4
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--server", "https://x.example", "a"], "--server needs a token"),
        (["--release", "1"], "--release goes with --server"),
        (["--sha256", "f" * 64], "--sha256 goes with --server"),
        (["--server", "https://x.example", "--token", "t"], "the one that you will publish"),
        (["--server", "https://x.example", "--token", "t", "a", "b"], "needs exactly one file"),
        (
            ["--server", "https://x.example", "--token", "t", "a", "--sha256", "f" * 64],
            "needs exactly one file",
        ),
        (["--server", "https://x.example", "--token", "t", "--release", "1"], "you will publish"),
        (
            ["--server", "https://x.example", "--token", "t", "--sha256", "F" * 64],
            "64 characters (0-9, a-f)",
        ),
    ],
)
def test_what_is_missing_is_wrong_usage(arguments, said):
    done = CliRunner(env={"TREEWARDEN_TOKEN": ""}).invoke(cli, ["gate", *arguments])
    assert done.exit_code == 2
    assert said in done.stderr


DIGEST = PASSES["digest"]


def run_by_file(server, *more):
    env = {"TREEWARDEN_TOKEN": TOKEN}
    return CliRunner(env=env).invoke(cli, ["gate", "--server", server, *map(str, more)])


def test_a_file_is_asked_about_by_its_digest(tmp_path):
    (tmp_path / "own.pmml").write_bytes(b"model")
    with a_service(PASSES) as (server, asked):
        assert run_by_file(server, tmp_path / "own.pmml").exit_code == 0
        assert run_by_file(server, "--sha256", DIGEST).exit_code == 0
    assert asked == [(f"/api/v1/gate?sha256={DIGEST}", f"Bearer {TOKEN}")] * 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({**PASSES, "digest": "1" * 64}, "the answer is about another file"),
        ({**PASSES, "release_id": None}, "answered PASS but named no approved release"),
        ({**PASSES, "release_id": 7}, "the answer is not one of a treewarden service"),
        ((404, {"detail": "request: not found"}), "answered 404"),
    ],
)
def test_an_answer_about_other_bytes_is_no_pass(answer, said):
    with a_service(answer) as (server, _):
        done = run_by_file(server, "--sha256", DIGEST)
    assert done.exit_code == 4
    assert said in done.stderr


def test_a_file_that_nobody_uploaded_is_no_audit():
    unknown = {**PASSES, "outcome": "NO AUDIT", "exit_code": 4, "release_id": None, "model": ""}
    with a_service({**unknown, "version": 0, "why": "no file was uploaded"}) as (server, _):
        done = run_by_file(server, "--sha256", DIGEST)
    assert done.exit_code == 4
    assert done.stdout.startswith("NO AUDIT: the file: no file was uploaded")


def test_what_is_waited_for_is_said_whenever_it_is_something_else():
    audited = {**WAITS, "why": "the audit is not done yet"}
    said = []
    with a_service(audited, audited, (503, b""), WAITS, WAITS, PASSES) as (server, _):
        question = RemoteRequest(server, TOKEN, sha256=DIGEST)
        ask(question, 1000, pause=lambda _: None, say=said.append)
    assert said == [
        "waiting: the audit is not done yet",
        "waiting: the service answered 503",
        "waiting: waits",
    ]


def test_who_gives_up_says_what_was_waited_for_and_how_to_go_on():
    with a_service(WAITS) as (server, _):
        done = run_by_file(server, "--sha256", DIGEST, "--wait", "0")
    assert done.exit_code == 3
    assert "not decided within 0 seconds (waits)" in done.stdout
    assert "--wait SECONDS" in done.stdout


def test_nothing_is_asked_about_nothing():
    with pytest.raises(RemoteError, match="give the file that you publish"):
        ask(RemoteRequest("https://x.example", TOKEN), 0)


def test_a_token_with_a_line_break_is_refused():
    with a_service(PASSES) as (server, _), pytest.raises(RemoteError, match="not a token"):
        ask(RemoteRequest(server, "a\nb", RELEASE), 0)
