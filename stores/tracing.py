"""OpenTelemetry, where it is installed and switched on; else every call here does nothing.

A trace begins at the agent and goes on through SQL: an event's `traceparent` is kept with its turn, that of the digest
with what it owes the index. Work that has one origin is its child, work that has several is linked to each of them, as
OpenTelemetry wants it of batches. Attributes are counts, ids of tenants, names of models: no text, no user, no session.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal

from schemas.errors import BadSettings, ServiceError
from stores.settings import Settings

Kind = Literal["internal", "server", "client", "consumer"]
Value = str | int | float | bool

#: Of a batch with more origins, these many are linked.
MOST_LINKS = 64
FLUSH_MS = 2_000

_tracer: Any = None
_provider: Any = None


class Span:
    """A piece of work under way. Without OpenTelemetry it holds nothing."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def note(self, attributes: Mapping[str, Value | None]) -> None:
        """Adds attributes; those that are None are left out."""
        if self._span is not None:
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})


def start(settings: Settings, role: str) -> None:
    """Sends this process's spans to `settings.otel.endpoint` from now on. In a child of a pool: in the child.

    Raises: BadSettings when OpenTelemetry is not installed.
    """
    if settings.otel.endpoint is None:
        return
    try:
        # Untyped where it is not installed.
        exporting: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415 - optional
    except ImportError:
        raise BadSettings(
            "AFTERTURN_OTEL_ENDPOINT: OpenTelemetry is not installed. Mend: sh deploy/bootstrap/install.sh otel"
        ) from None
    resource = Resource.create({"service.namespace": "afterturn", "service.name": f"afterturn-{role}"})
    provider = TracerProvider(resource=resource, sampler=ParentBasedTraceIdRatio(settings.otel.sample_ratio))
    exporter = exporting.OTLPSpanExporter(endpoint=f"{settings.otel.endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    use(provider)


def use(provider: Any) -> None:
    """Makes spans by this provider from now on; None: none any more. The caller shuts it down."""
    global _tracer, _provider  # noqa: PLW0603 - one a process, like OpenTelemetry's own
    _provider = provider
    _tracer = None if provider is None else provider.get_tracer("afterturn")


def flush() -> None:
    """Sends what was not sent yet, waiting a moment at most."""
    if _provider is not None:
        _provider.force_flush(FLUSH_MS)


def is_on() -> bool:
    """Whether anybody wants to know where work came from."""
    return _tracer is not None


def current() -> str | None:
    """The span under way, as W3C trace context; None without one."""
    if _tracer is None:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - optional

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


@contextmanager
def span(
    name: str,
    *,
    kind: Kind = "internal",
    origins: Iterable[str | None] = (),
    attributes: Mapping[str, Value | None] | None = None,
) -> Generator[Span]:
    """A piece of work. One distinct origin is its parent, several are its links; with none it goes on the current span.

    An error that comes out is told by its class or code, never by its text.
    """
    if _tracer is None:
        yield Span()
        return
    from opentelemetry import trace  # noqa: PLC0415 - optional

    context, links = _origins(list(dict.fromkeys(origin for origin in origins if origin)))
    with _tracer.start_as_current_span(
        name,
        context=context,
        kind=trace.SpanKind[kind.upper()],
        links=links,
        attributes={key: value for key, value in (attributes or {}).items() if value is not None},
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield Span(made)
        except BaseException as exc:
            code = exc.code if isinstance(exc, ServiceError) else type(exc).__qualname__
            made.set_attribute("error.type", code)
            made.set_status(trace.Status(trace.StatusCode.ERROR, code))
            raise


def _origins(distinct: list[str]) -> tuple[Any, list[Any]]:
    """(parent context, links) of work with these origins."""
    from opentelemetry import context, trace  # noqa: PLC0415 - optional
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 - optional

    if not distinct:
        return None, []
    extract = TraceContextTextMapPropagator().extract
    contexts: list[Any] = [extract({"traceparent": origin}, context.Context()) for origin in distinct[:MOST_LINKS]]
    if len(distinct) == 1:
        return contexts[0], []
    spans = [trace.get_current_span(one).get_span_context() for one in contexts]
    return context.Context(), [trace.Link(one) for one in spans if one.is_valid]
