"""Finding the shipped files, and reading the manifest and the fingerprints."""

from __future__ import annotations

from pathlib import Path

import pytest

from lcm.errors import MigrationError
from lcm.migrations.assets import Assets, find_assets
from lcm.migrations.fingerprints.document import load_fingerprint
from lcm.migrations.manifest import load_manifest


def make_assets(root: Path, manifest: str = "{}") -> Assets:
    assets = Assets(alembic=root / "alembic", fingerprints=root / "schema_fingerprints")
    assets.sql.mkdir(parents=True)
    assets.manifest.write_text(manifest)
    return assets


class TestFindAssets:
    def test_finds_them_beside_the_package_in_a_checkout(self, tmp_path: Path) -> None:
        """`alembic/` and `schema_fingerprints/` are neighbours of `lcm/`."""
        assets = make_assets(tmp_path)

        assert find_assets(tmp_path / "lcm") == assets

    def test_finds_them_inside_the_package_in_a_wheel(self, tmp_path: Path) -> None:
        """An installed package carries them in `_assets`, whatever lies beside it."""
        make_assets(tmp_path)
        bundled = make_assets(tmp_path / "lcm" / "_assets")

        assert find_assets(tmp_path / "lcm") == bundled

    def test_says_when_they_are_missing(self, tmp_path: Path) -> None:
        """A broken installation is told as such, without a path."""
        with pytest.raises(MigrationError, match=r"^The migration files of lcm are missing; install lcm again\.$"):
            find_assets(tmp_path / "lcm")


class TestLoadManifest:
    def test_is_empty_for_a_dialect_without_migrations(self, tmp_path: Path) -> None:
        """A dialect that is not listed has nothing to apply."""
        assert load_manifest("postgresql", make_assets(tmp_path)) == ()

    @pytest.mark.parametrize("text", ["", "[]", '{"sqlite": [{"id": "0001"}]}', '{"sqlite": 5}'])
    def test_refuses_what_it_cannot_read(self, tmp_path: Path, text: str) -> None:
        """A damaged manifest is one safe sentence."""
        with pytest.raises(MigrationError, match="manifest of lcm cannot be read"):
            load_manifest("sqlite", make_assets(tmp_path, text))


class TestLoadFingerprint:
    @pytest.mark.parametrize("text", [None, "", "{}", '{"objects": [{"kind": "table"}]}'])
    def test_refuses_what_it_cannot_read(self, tmp_path: Path, text: str | None) -> None:
        """A missing or damaged fingerprint is one safe sentence."""
        assets = make_assets(tmp_path)
        if text is not None:
            path = assets.fingerprint("sqlite", "0001")
            path.parent.mkdir(parents=True)
            path.write_text(text)

        with pytest.raises(MigrationError, match="The schema fingerprint of 0001 cannot be read"):
            load_fingerprint("sqlite", "0001", assets)
