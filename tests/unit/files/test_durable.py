import errno
import os
import stat
from pathlib import Path

import pytest

from lcm.errors import InvalidInput, StorageError, StorageUnavailable
from lcm.files.durable import create_private, ensure_private_dir, fsync_directory, read_private, write_private


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class TestWritePrivate:
    def test_a_new_file_is_private_and_whole(self, tmp_path: Path) -> None:
        """The file has its bytes, mode 0600, one link, and no temporary file stays."""
        write_private(tmp_path / "config.json", b"data")

        assert (tmp_path / "config.json").read_bytes() == b"data"
        assert mode_of(tmp_path / "config.json") == 0o600
        assert (tmp_path / "config.json").stat().st_nlink == 1
        assert names_in(tmp_path) == ["config.json"]

    def test_an_existing_file_is_replaced(self, tmp_path: Path) -> None:
        """Replacing gives a new inode with the new bytes; the mode is tightened."""
        path = tmp_path / "config.json"
        path.write_bytes(b"old")
        path.chmod(0o644)
        old_inode = path.stat().st_ino

        write_private(path, b"")

        assert path.read_bytes() == b""
        assert mode_of(path) == 0o600
        assert path.stat().st_ino != old_inode

    def test_exclusive_creation_never_replaces(self, tmp_path: Path) -> None:
        """With `require_absent`, an existing file is an error and stays as it is."""
        path = tmp_path / "machine.json"
        write_private(path, b"first", require_absent=True)

        with pytest.raises(StorageError, match="The file exists already; nothing was written"):
            write_private(path, b"second", require_absent=True)

        assert path.read_bytes() == b"first"
        assert path.stat().st_nlink == 1
        assert names_in(tmp_path) == ["machine.json"]

    @pytest.mark.parametrize("value", [None, "ab" * 32])
    def test_the_legacy_condition_is_refused_before_any_write(self, tmp_path: Path, value: str | None) -> None:
        """`expected_content_sha256` is refused even as None, also where the folder does not exist."""
        with pytest.raises(InvalidInput, match="Conditional replacement of a file is not supported"):
            write_private(tmp_path / "missing" / "x", b"data", expected_content_sha256=value)

        assert names_in(tmp_path) == []

    def test_a_symbolic_link_is_not_replaced(self, tmp_path: Path) -> None:
        """A link at the destination is no regular file; its target stays."""
        (tmp_path / "target").write_bytes(b"keep")
        (tmp_path / "link").symlink_to(tmp_path / "target")

        with pytest.raises(StorageError, match="not a regular file"):
            write_private(tmp_path / "link", b"data")

        assert (tmp_path / "target").read_bytes() == b"keep"
        assert names_in(tmp_path) == ["link", "target"]

    def test_a_folder_is_not_replaced(self, tmp_path: Path) -> None:
        """A folder at the destination is refused."""
        (tmp_path / "folder").mkdir()

        with pytest.raises(StorageError, match="not a regular file"):
            write_private(tmp_path / "folder", b"data")

    def test_a_file_with_two_links_is_not_replaced(self, tmp_path: Path) -> None:
        """Replacing one of two names would silently part them."""
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "b").hardlink_to(tmp_path / "a")

        with pytest.raises(StorageError, match="several hard links"):
            write_private(tmp_path / "a", b"data")

        assert (tmp_path / "a").read_bytes() == b"old"

    def test_an_oversized_file_is_not_replaced(self, tmp_path: Path) -> None:
        """A destination above the bound is refused, at the bound it is replaced."""
        path = tmp_path / "big"
        path.write_bytes(b"12345")

        with pytest.raises(StorageError, match="larger than 4 bytes"):
            write_private(path, b"data", max_replaced_bytes=4)
        write_private(path, b"data", max_replaced_bytes=5)

        assert path.read_bytes() == b"data"

    def test_a_file_of_another_user_is_not_replaced(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ownership is checked before anything is written."""
        path = tmp_path / "config.json"
        path.write_bytes(b"theirs")
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)

        with pytest.raises(StorageError, match="belongs to another user"):
            write_private(path, b"data")

        assert path.read_bytes() == b"theirs"

    @pytest.mark.parametrize(
        ("code", "reason"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "the file system is read-only")]
    )
    @pytest.mark.parametrize("require_absent", [False, True])
    def test_a_failing_disk_is_unavailable_and_leaves_no_trace(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str, require_absent: bool
    ) -> None:
        """A full or read-only disk is `StorageUnavailable` in one line without the path; no file appears."""

        def fail(descriptor: int) -> None:
            raise OSError(code, os.strerror(code), str(tmp_path))

        monkeypatch.setattr(os, "fsync", fail)

        with pytest.raises(StorageUnavailable, match=reason) as caught:
            write_private(tmp_path / "config.json", b"data", require_absent=require_absent)

        assert str(tmp_path) not in str(caught.value)
        assert names_in(tmp_path) == []

    def test_a_missing_folder_is_told_without_its_path(self, tmp_path: Path) -> None:
        """The error is one safe line."""
        with pytest.raises(StorageError) as caught:
            write_private(tmp_path / "missing" / "x", b"data")

        assert str(caught.value) == "Writing the file failed: its folder is missing."

    def test_a_tight_umask_does_not_change_the_mode(self, tmp_path: Path) -> None:
        """The mode is 0600 under any umask."""
        previous = os.umask(0o777)
        try:
            write_private(tmp_path / "x", b"data")
        finally:
            os.umask(previous)

        assert mode_of(tmp_path / "x") == 0o600


class TestCreatePrivate:
    def test_the_first_creates_and_the_second_does_not(self, tmp_path: Path) -> None:
        """The answer tells who created the file."""
        assert create_private(tmp_path / "x", b"first") is True
        assert create_private(tmp_path / "x", b"second") is False
        assert (tmp_path / "x").read_bytes() == b"first"

    def test_a_dangling_link_counts_as_present(self, tmp_path: Path) -> None:
        """Anything with that name blocks creation; a link is not followed."""
        (tmp_path / "x").symlink_to(tmp_path / "nowhere")

        assert create_private(tmp_path / "x", b"data") is False
        assert names_in(tmp_path) == ["x"]


class TestReadPrivate:
    def test_bytes_come_back_and_absence_is_none(self, tmp_path: Path) -> None:
        """Reading gives all bytes, or None when there is no such file or folder."""
        write_private(tmp_path / "x", b"data")

        assert read_private(tmp_path / "x", max_bytes=4) == b"data"
        assert read_private(tmp_path / "y", max_bytes=4) is None
        assert read_private(tmp_path / "no" / "y", max_bytes=4) is None

    def test_too_large_is_refused(self, tmp_path: Path) -> None:
        """A file above the bound is an error, not a cut text."""
        write_private(tmp_path / "x", b"12345")

        with pytest.raises(StorageError, match="larger than 4 bytes"):
            read_private(tmp_path / "x", max_bytes=4)

    def test_a_fifo_and_a_link_are_refused_without_waiting(self, tmp_path: Path) -> None:
        """Special files are neither opened for long nor followed."""
        os.mkfifo(tmp_path / "fifo")
        (tmp_path / "link").symlink_to(tmp_path / "fifo")

        with pytest.raises(StorageError, match="not a regular file"):
            read_private(tmp_path / "fifo", max_bytes=4)
        with pytest.raises(StorageError, match="symbolic link"):
            read_private(tmp_path / "link", max_bytes=4)


class TestEnsurePrivateDir:
    def test_missing_parents_are_made_private(self, tmp_path: Path) -> None:
        """Every folder that is made has mode 0700; a second call changes nothing."""
        folder = tmp_path / "a" / "b"

        ensure_private_dir(folder)
        ensure_private_dir(folder)

        assert [mode_of(tmp_path / "a"), mode_of(folder)] == [0o700, 0o700]

    def test_an_open_folder_is_tightened(self, tmp_path: Path) -> None:
        """An existing own folder becomes 0700."""
        folder = tmp_path / "home"
        folder.mkdir(mode=0o755)

        ensure_private_dir(folder)

        assert mode_of(folder) == 0o700

    def test_a_shared_folder_is_refused(self, tmp_path: Path) -> None:
        """A sticky folder such as /tmp is not taken over."""
        folder = tmp_path / "shared"
        folder.mkdir()
        folder.chmod(0o1777)

        with pytest.raises(StorageError, match="shared or belongs to another user"):
            ensure_private_dir(folder)

        assert mode_of(folder) == 0o1777

    def test_a_file_in_its_place_is_refused(self, tmp_path: Path) -> None:
        """A file is neither removed nor used as a folder."""
        (tmp_path / "home").write_bytes(b"")

        with pytest.raises(StorageError, match="taken by a file"):
            ensure_private_dir(tmp_path / "home")
        with pytest.raises(StorageError):
            ensure_private_dir(tmp_path / "home" / "below")


class TestFsyncDirectory:
    def test_a_missing_folder_is_an_error(self, tmp_path: Path) -> None:
        """Only an existing folder can be synced."""
        fsync_directory(tmp_path)
        with pytest.raises(StorageError, match="Syncing the folder failed"):
            fsync_directory(tmp_path / "missing")
