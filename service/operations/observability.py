"""What operators see of a process: logs (one line of JSON for each event, to stderr), Prometheus metrics, and traces.

Of an error, its kind and where it came from are logged, but not what it says, unless it is one of our own: the message
of any other may repeat what somebody sent or what stands in a table. Metrics are counts and times alone, of the
service from the database and of requests from this process. The health check says whether this process can work now.
Anybody may read it, so it names no place. Traces for OpenTelemetry are an extra.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from sqlalchemy import ColumnElement, Select, case, extract, func, select
from structlog.types import EventDict, Processor

import treewarden
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.database.engine import check_level
from treewarden.service.database.run_tables import audit, delivery, job, worker
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import ServiceError, SetupError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.site import Site, Unit
from treewarden.service.vault.folder_store import folder_problem

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.trace import Span
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEVELS = ("debug", "info", "warning", "error", "critical")
MOST_FRAMES = 30
UNWATCHED = "healthz,readyz,metrics,static/"
WITH_QUERY = ("http.target", "http.url", "url.full", "url.query")
"""What would repeat the part of an address in which people search."""
Caught = tuple[type[BaseException], BaseException, TracebackType | None]


def log_as_json(level: str, to: TextIO | None = None) -> None:
    """Have this process log, its libraries too, from a level on; to stderr where nothing else is said.

    Raises:
        SetupError: there is no such level.
    """
    if level.lower() not in LEVELS:
        problem = f"is not a level; choose one of {', '.join(LEVELS)}"
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


def _caught(exc_info: Any) -> Caught | None:  # noqa: ANN401  # as logging takes it: true, an error, or what is caught
    if isinstance(exc_info, BaseException):
        return type(exc_info), exc_info, exc_info.__traceback__
    if isinstance(exc_info, tuple):
        return exc_info if exc_info[0] is not None else None
    kind, error, trace = sys.exc_info() if exc_info else (None, None, None)
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
        return _trace(app, settings.otlp_endpoint)
    except ModuleNotFoundError as error:
        problem = f"the package {error.name} is not installed; pip install 'treewarden[telemetry]'"
        raise SetupError("TREEWARDEN_OTLP_ENDPOINT", problem) from error


def _trace(app: FastAPI, endpoint: str) -> Tracing:
    """Send a span for each request to the collector at an address, ``http://host:4318`` for instance."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # an extra
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    told = Resource.create(
        {"service.name": "treewarden", "service.version": treewarden.__version__}
    )
    provider = TracerProvider(resource=told)
    sender = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(sender))
    FastAPIInstrumentor.instrument_app(
        app,
        tracer_provider=provider,
        excluded_urls=UNWATCHED,
        server_request_hook=_without_query,
        exclude_spans=["receive", "send"],
    )
    return provider


def _without_query(span: Span, scope: dict[str, Any]) -> None:
    for name in WITH_QUERY:
        span.set_attribute(name, "" if name == "url.query" else scope["path"])


BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
NOWHERE = "none"
"""The route of a request that fits none: its path is a stranger's, and is not repeated."""


class Metrics:
    """The figures of one process, in a registry of its own."""

    def __init__(self, site: Site) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "treewarden_requests",
            "Requests answered by this process.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "treewarden_request_seconds",
            "Seconds until a request was answered.",
            ("route",),
            buckets=BOUNDS,
            registry=self.registry,
        )
        self.registry.register(_OfSite(site))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self.registry)


class _OfSite:
    """What the database says at the moment when it is asked."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def describe(self) -> Iterable[Metric]:
        """Name nothing beforehand, so that to register asks no database."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the figures; without a database, that there is none."""
        yield _gauge(
            "info",
            "The version of the running program.",
            [((treewarden.__version__,), 1)],
            "version",
        )
        try:
            with self._site.reading() as unit:
                found = list(_figures(unit))
        except ServiceError:
            found = []
        yield _gauge("database_up", "Whether the database answers.", [((), bool(found))])
        yield from found


def _figures(unit: Unit) -> Iterator[Metric]:
    yield from _jobs(unit)
    yield _audit_seconds(unit)
    sizes = select(blob.c.kind, func.sum(blob.c.size)).where(blob.c.sealed_key.is_not(None))
    yield _gauge(
        "vault_bytes", "Bytes that can be read.", _by(unit, sizes.group_by(blob.c.kind)), "kind"
    )
    overdue = select(func.count()).where(
        data_table.c.erased_at.is_(None), data_table.c.expires_at <= unit.now
    )
    text = "Tables that should have been erased by now."
    yield _gauge("tables_overdue", text, [((), unit.connection.execute(overdue).scalar_one())])
    seen = unit.now - timedelta(seconds=unit.site.settings.lease_seconds)
    alive = select(func.count()).where(worker.c.seen_at >= seen)
    text = "Workers that reported within the last lease."
    yield _gauge("workers", text, [((), unit.connection.execute(alive).scalar_one())])
    sent = select(delivery.c.state, func.count()).group_by(delivery.c.state)
    yield _gauge("deliveries", "Events for webhooks, by state.", _by(unit, sent), "state")


def _jobs(unit: Unit) -> Iterator[Metric]:
    counted = select(job.c.kind, job.c.state, func.count()).group_by(job.c.kind, job.c.state)
    yield _gauge("jobs", "Jobs by kind and state.", _by(unit, counted), "kind", "state")
    first = select(func.min(job.c.created_at)).where(job.c.state == "queued")
    oldest: datetime | None = unit.connection.execute(first).scalar()
    waits = 0.0 if oldest is None else max((unit.now - oldest).total_seconds(), 0.0)
    yield _gauge("oldest_queued_seconds", "How long the oldest queued job waits.", [((), waits)])
    again = job.c.attempt - 1 - job.c.failures
    taken = case((again > 0, again), else_=0)
    sums = select(func.sum(taken), func.sum(job.c.failures))
    takeovers, failures = unit.connection.execute(sums).one()
    for name, text, value in (
        (
            "job_takeovers",
            "Jobs that were started again because their worker did not report.",
            takeovers,
        ),
        ("job_failures", "Processes of jobs that died.", failures),
    ):
        found = CounterMetricFamily(f"treewarden_{name}", text)
        found.add_metric([], float(value or 0))
        yield found


def _audit_seconds(unit: Unit) -> Metric:
    """Return how many audits of versions were done, and how long they took in all; repairs are counted as jobs."""
    length = _seconds_between(unit, job.c.started_at, job.c.finished_at)
    rows = unit.connection.execute(
        select(audit.c.verdict, func.count(), func.sum(length))
        .join(job, job.c.subject_id == audit.c.id)
        .where(audit.c.kind == "audit", audit.c.state == "done", job.c.finished_at.is_not(None))
        .group_by(audit.c.verdict)
    ).all()
    text = "Audits that were done, and the seconds of their last attempt."
    found = SummaryMetricFamily("treewarden_audit_seconds", text, labels=["verdict"])
    for verdict, number, seconds in rows:
        found.add_metric([verdict], number, float(seconds or 0))
    return found


def _seconds_between(
    unit: Unit, first: ColumnElement[Any], last: ColumnElement[Any]
) -> ColumnElement[Any]:
    if unit.connection.dialect.name == "sqlite":
        return (func.julianday(last) - func.julianday(first)) * 86_400.0
    return extract("epoch", last - first)


def _by(unit: Unit, statement: Select[Any]) -> list[tuple[tuple[str, ...], float]]:
    """Return what a statement counts, by its labels."""
    rows = unit.connection.execute(statement).all()
    return [(tuple(map(str, row[:-1])), float(row[-1])) for row in rows]


def _gauge(
    name: str, text: str, values: Iterable[tuple[tuple[str, ...], float]], *labels: str
) -> Metric:
    found = GaugeMetricFamily(f"treewarden_{name}", text, labels=labels)
    for key, value in values:
        found.add_metric(key, value)
    return found


# Counts each request and writes one line about it: which route, who, how it ended; nothing that was sent.

LOG = structlog.get_logger("treewarden.service.requests")
QUIET = ("/healthz", "/readyz", "/metrics", "/static/{name:path}")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Watching:
    """Stands before all else; what it says of a request was found out by those behind it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, prefix: str) -> None:
        self.app, self.metrics, self.prefix = app, metrics, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        started, status = time.monotonic(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception:
            LOG.exception("a bug in treewarden", **self._request_facts(scope))
            raise
        finally:
            seconds = time.monotonic() - started
            told = self._request_facts(scope)
            self.metrics.count(told["method"], told["route"], status, seconds)
            log = LOG.debug if told["route"] in QUIET else LOG.info
            log("request", **told, status=status, seconds=round(seconds, 4))

    def _request_facts(self, scope: Scope) -> dict[str, str]:
        state, who = scope["state"], scope["state"].get("principal")
        method = scope["method"] if scope["method"] in METHODS else NOWHERE
        route = getattr(scope.get("route"), "path", NOWHERE)
        if scope["path"].startswith(f"{self.prefix}/") and route.startswith("/"):
            # a route of a router may or may not know what was put before it
            route = self.prefix + route.removeprefix(self.prefix)
        return {
            "request": state.get("request_id", ""),
            "method": method,
            "route": route,
            "account": "" if who is None else who.account_id,
        }


HEALTH_LOG = structlog.get_logger(__name__)
GOOD = "ok"


def check_key(site: Site) -> None:
    """Check that the key file opens what was sealed last: with another one, what is kept from now on would be lost.

    Raises:
        SetupError: it is another key.
        UnavailableError: the database cannot be reached.
    """
    newest = select(blob.c.sealed_key).where(blob.c.sealed_key.is_not(None))
    with site.reading() as unit:
        sealed = unit.connection.execute(newest.order_by(blob.c.id.desc()).limit(1)).scalar()
    if sealed is None:
        return
    try:
        site.vault.unseal(sealed)
    except UnavailableError as error:
        raise SetupError(error.where, error.problem) from error


def readiness(site: Site) -> dict[str, str]:
    """Return what of database, level and vault can be used; ``ok`` is said of what can."""
    return {**_database(site), "vault": _vault(site)}


def _database(site: Site) -> dict[str, str]:
    try:
        check_level(site.engine)
    except SetupError as error:
        return {"database": GOOD, "level": str(error)}
    except TreewardenError as error:
        HEALTH_LOG.warning("the database cannot be reached", why=str(error))
        return {"database": "cannot be reached", "level": "unknown"}
    return {"database": GOOD, "level": GOOD}


def _vault(site: Site) -> str:
    found = folder_problem(site.vault.folder) or site.vault.store.problem()
    if found:
        HEALTH_LOG.warning("the vault cannot be used", why=found)
        return found
    try:
        check_key(site)
    except SetupError as error:
        return str(error)
    except TreewardenError:  # what the database says of itself
        return GOOD
    return GOOD
