import json
from pathlib import Path

import pytest

from lcm.errors import InvalidSetting
from lcm.settings.describe import SettingView, describe, get_value
from lcm.settings.load import load_settings
from lcm.settings.model import Origin, Settings

SECRET = "hunter2-hunter2"


def load(home: Path, **environ: str) -> Settings:
    return load_settings(environ={"HOME": "/home/ada", **environ}, overrides={"home": str(home)})


class TestDescribe:
    def test_a_value_is_shown_with_its_origin(self, tmp_path: Path) -> None:
        """Each of the four origins is named."""
        (tmp_path / "config.json").write_text(json.dumps({"version": 1, "log": {"level": "info"}}))

        views = {view.key: view for view in describe(load(tmp_path, LCM_MAX_ROUNDS="3"))}

        assert (views["home"].value, views["home"].origin) == (str(tmp_path), Origin.OVERRIDE)
        assert (views["compaction.max_rounds"].value, views["compaction.max_rounds"].origin) == (3, "environment")
        assert (views["log.level"].value, views["log.level"].origin) == ("info", "file")
        assert (views["import.codex_dir"].value, views["import.codex_dir"].origin) == ("/home/ada/.codex", "default")

    def test_a_view_tells_all_about_a_setting(self, tmp_path: Path) -> None:
        """Key, help, default and variable come from the table."""
        view = next(view for view in describe(load(tmp_path)) if view.key == "storage.backend")

        assert view == SettingView(
            key="storage.backend",
            value="sqlite",
            origin=Origin.DEFAULT,
            secret=False,
            help="Where projects are stored.",
            default="sqlite",
            environment="LCM_STORAGE_BACKEND",
        )

    def test_secrets_are_masked_when_set(self, tmp_path: Path) -> None:
        """A set secret shows as eight asterisks, an unset one as nothing."""
        views = describe(load(tmp_path, LCM_SUMMARY_API_KEY=SECRET))

        shown = {view.key: view.value for view in views if view.secret}
        assert shown == {"storage.postgresql.url": None, "summarizer.api_key": "********"}
        assert SECRET not in repr(views)


class TestGetValue:
    def test_a_value_is_found_by_key(self, tmp_path: Path) -> None:
        """The effective value comes back, masked when it is a secret."""
        settings = load(tmp_path, LCM_SUMMARY_API_KEY=SECRET)

        assert get_value(settings, "compaction.leaf_target_tokens") == 1200
        assert get_value(settings, "summarizer.api_key") == "********"

    def test_an_unknown_key_is_refused(self, tmp_path: Path) -> None:
        """A key that is not in the table is an error that lists what is known."""
        with pytest.raises(
            InvalidSetting, match=r"There is no setting import\.cursor_dir; known are import\.claude_dir"
        ):
            get_value(load(tmp_path), "import.cursor_dir")
