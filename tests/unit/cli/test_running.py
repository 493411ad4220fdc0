from __future__ import annotations

import pytest

from lcm.cli.running import run
from lcm.errors import InvalidInput, SchemaTooNew


def ends_with(error: BaseException) -> int:
    """The exit code of a command that raises."""

    async def work() -> None:
        raise error

    with pytest.raises(SystemExit) as end:
        run(work)
    assert isinstance(end.value.code, int)
    return end.value.code


class TestRun:
    def test_an_error_of_ours_is_its_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit code 1 and one line."""
        assert ends_with(InvalidInput("The pattern is empty.")) == 1
        assert capsys.readouterr().err == "lcm: The pattern is empty.\n"

    def test_a_newer_schema_cannot_be_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit code 3 is for what this version does not understand."""
        assert ends_with(SchemaTooNew()) == 3

    def test_a_fault_of_ours_shows_no_value(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An error nobody expected is one line with its kind, without its text and without a traceback."""
        assert ends_with(ValueError("sk-secret")) == 1
        (line,) = capsys.readouterr().err.splitlines()

        assert line.startswith("lcm: Unexpected ValueError in lcm.cli.running:")
        assert "sk-secret" not in line

    def test_the_systems_refusal_shows_no_path(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What the system says is told without the file it says it about."""
        assert ends_with(PermissionError(13, "Permission denied", "/home/someone/secret")) == 1
        assert capsys.readouterr().err == "lcm: Permission denied.\n"
