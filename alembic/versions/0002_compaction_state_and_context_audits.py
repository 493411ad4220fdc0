"""Compaction state, circuit breakers of model providers, and audits of the context.

SQL: alembic/sql/<dialect>/0002.sql, frozen by the SHA-256 in alembic/sql/manifest.json.
"""

from __future__ import annotations

from lcm.migrations.shims import downgrade, upgrade

revision = "0002"
down_revision = "0001"

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]
