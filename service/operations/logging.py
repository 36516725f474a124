"""Logging of a process: one line of JSON for each event, to stderr; and traces for OpenTelemetry, as an extra.

Of an error, its kind and where it came from are written, but not what it says, unless it is one of our own: the
message of any other may repeat what somebody sent or what stands in a table.
"""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from types import TracebackType
from typing import Any, Protocol, TextIO

import structlog
from fastapi import FastAPI
from structlog.types import EventDict, Processor

from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.errors import SetupError
from treewarden.service.settings import Settings

LEVELS = ("debug", "info", "warning", "error", "critical")
MOST_FRAMES = 30
Caught = tuple[type[BaseException], BaseException, TracebackType | None]


def log_as_json(level: str, to: TextIO | None = None) -> None:
    """Have this process log, its libraries too, from a level on; to stderr where nothing else is said.

    Raises:
        SetupError: there is no such level.
    """
    if level.lower() not in LEVELS:
        problem = f"is no level; give one of {', '.join(LEVELS)}"
        raise SetupError("TREEWARDEN_LOG_LEVEL", problem)
    known: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper("iso", utc=True, key="at"),
        tell_errors,
    ]
    structlog.configure(
        [
            structlog.stdlib.filter_by_level,
            *known,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=known,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.CRITICAL)  # it repeats whole addresses


def tell_errors(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Replace an error by what may be said of it."""
    caught = _caught(event.pop("exc_info", None))
    if caught is not None:
        _, error, trace = caught
        event["error"] = type(error).__name__
        if isinstance(error, TreewardenError):
            event["why"] = str(error)
        frames = traceback.extract_tb(trace)[-MOST_FRAMES:]
        event["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


def _caught(given: Any) -> Caught | None:  # noqa: ANN401  # as logging takes it: true, an error, or what is caught
    if isinstance(given, BaseException):
        return type(given), given, given.__traceback__
    if isinstance(given, tuple):
        return given if given[0] is not None else None
    kind, error, trace = sys.exc_info() if given else (None, None, None)
    return None if kind is None or error is None else (kind, error, trace)


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
