"""What the revision files of Alembic contain: nothing to run. lcm's own runner applies the frozen SQL."""

from __future__ import annotations

from lcm.errors import MigrationError


def upgrade() -> None:
    """Refuses: the environment brings a database to head before Alembic would call this.

    Raises:
        MigrationError: always.
    """
    raise MigrationError("Migrations run through `lcm migrate` or `alembic upgrade head` with lcm's own environment.")


def downgrade() -> None:
    """Refuses: a schema never goes back.

    Raises:
        MigrationError: always.
    """
    raise MigrationError("lcm does not downgrade a schema; restore a backup made before the migration.")
