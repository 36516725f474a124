"""An audit whose process is killed, as the system does where memory runs out."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from treewarden.audit.progress import silent
from treewarden.jobs.gate.gate_job import GateAnswer, GateJob


@dataclass(frozen=True, slots=True)
class Deadly(GateJob):
    def __call__(self, step=silent) -> GateAnswer:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")
