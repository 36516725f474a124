"""Traces for OpenTelemetry, where somebody collects them; the packages for it are an extra."""

from __future__ import annotations

import importlib
from typing import Protocol

from fastapi import FastAPI

from treewarden.service.errors import SetupError
from treewarden.service.settings import Settings


class Tracing(Protocol):
    """What sends traces; it does so at the end of the process too."""

    def shutdown(self) -> None:
        """Send what is left."""


def trace_where_asked(app: FastAPI, settings: Settings) -> Tracing | None:
    """Have requests traced, where the settings say to whom, and return what sends the traces.

    Raises:
        SetupError: the packages for it are not installed.
    """
    if not settings.otlp_endpoint:
        return None
    try:
        tracing = importlib.import_module("treewarden.service.operations.tracing")
    except ModuleNotFoundError as error:
        problem = f"the package {error.name} is not installed; pip install 'treewarden[telemetry]'"
        raise SetupError("TREEWARDEN_OTLP_ENDPOINT", problem) from error
    sender: Tracing = tracing.trace(app, settings.otlp_endpoint)
    return sender
