"""The log: past-tense events with facts as fields, to one stream. Facts are ids, counts and units, never content."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import Any, TextIO

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


@dataclass(slots=True)
class _Plan:
    """What `configure` asked for; carried out at the first event, because importing structlog costs 90 ms."""

    level: int = LEVELS["warning"]
    stream: TextIO | None = None
    is_pending: bool = True


_plan = _Plan()


def configure(level: str, *, stream: TextIO | None = None) -> None:
    """Choose the least level (debug, info, warning, error) and the stream, standard error by default.

    A terminal gets readable lines, anything else one JSON object per line. A later call replaces the choice.
    """
    _plan.level = LEVELS[level]
    _plan.stream = stream
    _plan.is_pending = True
    if "structlog" in sys.modules:
        _carry_out()


class Logger:
    """A named logger; making one is free, the first event that is not below the level loads structlog."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **facts: object) -> None:
        self._emit("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._emit("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._emit("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._emit("error", event, facts)

    def _emit(self, level: str, event: str, facts: dict[str, object]) -> None:
        # Once structlog is loaded it decides, because somebody may be capturing events.
        if LEVELS[level] < _plan.level and "structlog" not in sys.modules:
            return
        import structlog

        # Who embeds lcm and configured structlog, or captures events, keeps that.
        if _plan.is_pending and not structlog.is_configured():
            _carry_out()
        # A log that cannot be written must not stop the work it tells about.
        with contextlib.suppress(OSError):
            getattr(structlog.get_logger(), level)(event, logger=self._name, **facts)


def get_logger(name: str) -> Logger:
    """A logger for a module, named by `__name__`."""
    return Logger(name)


def _carry_out() -> None:
    import structlog

    stream = _plan.stream or sys.stderr
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(is_terminal=stream.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_plan.level),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    _plan.is_pending = False


def _renderer(*, is_terminal: bool) -> Any:
    import structlog

    if is_terminal:
        # Rich tracebacks show local variables, which hold content.
        return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return structlog.processors.JSONRenderer(ensure_ascii=False)
