"""Column types that mean the same on every backend; values are aware UTC times, UUIDs, bytes and enums in Python."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Text
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeDecorator, TypeEngine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(value: datetime) -> int:
    """Microseconds since 1970 in UTC, exact."""
    return (value - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


class UtcTime(TypeDecorator[datetime]):
    """timestamptz on PostgreSQL, INTEGER microseconds since 1970 on SQLite."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
        return dialect.type_descriptor(Integer())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return to_microseconds(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if dialect.name == "postgresql":
            return value.astimezone(UTC) if isinstance(value, datetime) else None
        return from_microseconds(value)


class Key(TypeDecorator[uuid.UUID]):
    """uuid on PostgreSQL, a 16-byte BLOB on SQLite."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.UUID(as_uuid=True))
        return dialect.type_descriptor(LargeBinary(16))

    def process_bind_param(self, value: uuid.UUID | None, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return value.bytes

    def process_result_value(self, value: Any, dialect: Dialect) -> uuid.UUID | None:  # noqa: ARG002 - SQLAlchemy's signature
        if value is None or isinstance(value, uuid.UUID):
            return value
        return uuid.UUID(bytes=bytes(value))


#: SHA-256 digests: bytea / BLOB.
Digest = LargeBinary

#: Row ids and safe integers: bigint on PostgreSQL; INTEGER on SQLite, where only that spelling names the rowid.
Id = BigInteger().with_variant(Integer(), "sqlite")

#: Text of any length.
String = Text
