from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lcm.errors import InvalidSetting
from lcm.settings.load import load_settings
from lcm.settings.model import Settings
from lcm.summarizer.choose import choose_summarizer


def settings(home: Path, **environ: str) -> Settings:
    return load_settings(environ={"HOME": str(home), "LCM_HOME": str(home), **environ})


class TestChooseSummarizer:
    @pytest.mark.parametrize(
        ("environ", "model", "is_remote"),
        [
            ({}, "offline", False),
            ({"LCM_SUMMARY_MODEL": "openai/gpt-x"}, "openai/gpt-x", True),
            ({"LCM_SUMMARY_PROVIDER": "litellm", "LCM_SUMMARY_MODEL": "openai/gpt-x"}, "openai/gpt-x", True),
            ({"LCM_SUMMARY_PROVIDER": "offline", "LCM_SUMMARY_MODEL": "openai/gpt-x"}, "offline", False),
        ],
    )
    def test_settings_decide(self, tmp_path: Path, environ: dict[str, str], model: str, *, is_remote: bool) -> None:
        """`auto` takes a named model, else the offline summarizer; the other two are taken by their word."""
        chosen = choose_summarizer(settings(tmp_path, **environ))

        assert (chosen.model, chosen.is_remote) == (model, is_remote)

    def test_litellm_without_a_model_tells_what_to_set(self, tmp_path: Path) -> None:
        """The error names the variable to set."""
        with pytest.raises(InvalidSetting, match="set LCM_SUMMARY_MODEL to provider/name"):
            choose_summarizer(settings(tmp_path, LCM_SUMMARY_PROVIDER="litellm"))

    def test_the_key_is_not_in_the_repr(self, tmp_path: Path) -> None:
        """Showing a summarizer shows no secret."""
        chosen = choose_summarizer(settings(tmp_path, LCM_SUMMARY_MODEL="openai/x", LCM_SUMMARY_API_KEY="sk-secret"))

        assert "sk-secret" not in repr(chosen)

    def test_choosing_loads_no_litellm(self) -> None:
        """The heavy package is loaded by the first call, not by the import."""
        code = "import sys, lcm.summarizer.choose; print('litellm' in sys.modules)"

        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert run.stdout == "False\n"
