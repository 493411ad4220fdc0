"""Migrated, empty projects made once per test process and copied: a copy costs a fraction of a creation."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
import threading
from functools import cache
from pathlib import Path

from lcm.identity.project import project_folder
from lcm.storage.sqlite.factory import SqliteFactory

ROOT = "/home/user/project"
OTHER_ROOT = "/home/user/other"


def put_empty_project(home: Path, root: str) -> None:
    """Copy the template of `root` into a home that has no such project yet; the home's machine is the template's."""
    source = project_folder(_template_home(), root)
    target = project_folder(home, root)
    if target.exists():
        return
    for folder in (home, home / "projects", target):
        folder.mkdir(mode=0o700, exist_ok=True)
    _copy(source / "db.sqlite", target / "db.sqlite")
    if not (home / "machine.json").exists():
        _copy(_template_home() / "machine.json", home / "machine.json")


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o600)


@cache
def _template_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="lcm-template-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    # In a thread of its own: the caller may be inside a running event loop.
    maker = threading.Thread(target=lambda: asyncio.run(_make(home)))
    maker.start()
    maker.join()
    return home


async def _make(home: Path) -> None:
    factory = SqliteFactory(home)
    for root in (ROOT, OTHER_ROOT):
        await factory.open_project(root)
    await factory.close()
