"""Baseline: every table, index, trigger and full-text index of the first schema.

SQL: alembic/sql/<dialect>/0001.sql, frozen by the SHA-256 in alembic/sql/manifest.json.
"""

from __future__ import annotations

from lcm.migrations.shims import downgrade, upgrade

revision = "0001"
down_revision = None

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]
