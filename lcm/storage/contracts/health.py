"""Whether a backend can serve; never with URLs, paths, SQL, values or driver errors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HealthStatus(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Health:
    """One answer of a probe; `detail` is one safe sentence, empty when closed."""

    status: HealthStatus
    backend: str
    domain: str
    project_id: str | None = None
    detail: str = ""
