import errno
import os
from pathlib import Path

import pytest

from lcm.errors import StorageError, StorageUnavailable
from lcm.files.permissions import open_private, require_replaceable, safe_errors


class TestSafeErrors:
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE])
    def test_what_may_pass_is_unavailable(self, code: int) -> None:
        """A condition that can end makes the same call worth repeating."""
        with pytest.raises(StorageUnavailable, match="Saving failed: "), safe_errors("Saving"):
            raise OSError(code, "x", "/secret/path")

    @pytest.mark.parametrize("code", [errno.EACCES, errno.EINVAL, None])
    def test_other_refusals_are_told_without_the_path(self, code: int | None) -> None:
        """The line holds the action and a reason, no path, and the cause is hidden."""
        with pytest.raises(StorageError, match="Saving failed: ") as caught, safe_errors("Saving"):
            raise OSError(code, "x", "/secret/path")

        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_errors_of_lcm_pass_unchanged(self) -> None:
        """A refusal that is told already keeps its sentence."""
        with pytest.raises(StorageError, match=r"^As it is\.$"), safe_errors("Saving"):
            raise StorageError("As it is.")


class TestOpenPrivate:
    def test_a_created_file_is_private_and_not_inherited(self, tmp_path: Path) -> None:
        """A new file has mode 0600 and its descriptor closes when another program starts."""
        descriptor = open_private(tmp_path / "x", os.O_RDWR | os.O_CREAT)

        assert os.fstat(descriptor).st_mode & 0o777 == 0o600
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)


class TestRequireReplaceable:
    def test_nothing_there_may_be_written(self, tmp_path: Path) -> None:
        """An absent destination is fine."""
        require_replaceable(tmp_path / "x", max_bytes=0)
