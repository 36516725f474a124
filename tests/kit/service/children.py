"""Processes that stand in for that of a job, and do what a stranger's file may make it do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

from treewarden.service.worker.orders import receive, send
from treewarden.service.worker.sandbox import confine


class Instead:
    """Starts another function than that of a job, the way a worker starts that one."""

    def __init__(self, does):
        self._does = does
        self._real = multiprocessing.get_context("forkserver")

    def Pipe(self):  # noqa: N802  # the name that a context has
        return self._real.Pipe()

    def Process(self, target, args, daemon):  # noqa: N802  # the name that a context has
        return self._real.Process(target=self._does, args=args, daemon=daemon)


def dies(connection, limits):
    """End as one does that the system takes for the culprit where memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(connection, limits):
    """Be confined, tell the number of the process as a stage, and never answer."""
    confine(limits)
    send(connection, {"stage": str(os.getpid())})
    time.sleep(600)


def answers_when_told(connection, limits):
    """Answer that all is well, once it gets a signal after having begun."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    receive(connection)
    send(connection, {"stage": str(os.getpid())})
    signal.sigwait({signal.SIGUSR1})
    send(connection, {"answer": {"verdict": "PASS"}})


def passes(connection, limits):
    """Answer that all is well, at once."""
    send(connection, {"answer": {"verdict": "PASS"}})


def babbles(connection, limits):
    """Answer what is no frame."""
    connection.send_bytes(b"\xff" * 1000)


def claims_too_much(connection, limits):
    """Announce a report that does not come along."""
    send(connection, {"answer": {"verdict": "PASS", "kept": [{"kind": "public", "form": "html"}]}})


def says_odd_characters(connection, limits):
    """Answer with a character that PostgreSQL keeps nowhere."""
    send(connection, {"answer": {"verdict": "PASS", "headline": "a\0b"}})


def stops_in_the_middle(connection, limits):
    """Announce a file, and never send it."""
    receive(connection)
    send(connection, {"stage": str(os.getpid())})
    os.write(connection.fileno(), b"\0\0\1")
    time.sleep(600)
