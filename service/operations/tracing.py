"""Traces requests and sends them by OTLP; the only file that needs the packages of OpenTelemetry, loaded by name."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span

import treewarden

UNWATCHED = "healthz,readyz,metrics,static/"
WITH_QUERY = ("http.target", "http.url", "url.full", "url.query")
"""What would repeat the part of an address in which people search."""


def trace(app: FastAPI, endpoint: str) -> TracerProvider:
    """Send a span for each request to the collector at an address, ``http://host:4318`` for instance."""
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
