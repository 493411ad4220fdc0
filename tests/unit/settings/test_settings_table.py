import dataclasses

from lcm.settings import model
from lcm.settings.table import JSON_TYPES, SETTINGS, Kind


class TestSettingsTable:
    def test_keys_and_variables_are_unique(self) -> None:
        """No two settings share a key or an environment variable."""
        assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
        assert len({setting.environment for setting in SETTINGS}) == len(SETTINGS)

    def test_every_setting_says_what_is_allowed_and_what_it_is_for(self) -> None:
        """Error messages and help are never empty, for every kind."""
        assert all(setting.allowed and setting.help.endswith(".") for setting in SETTINGS)
        assert set(JSON_TYPES) == set(Kind)

    def test_secrets_never_belong_in_the_file(self) -> None:
        """Every secret is environment only."""
        assert all(setting.environment_only for setting in SETTINGS if setting.secret)

    def test_the_compaction_section_is_the_compaction_dataclass(self) -> None:
        """Keys of the section and fields of the dataclass agree."""
        keys = {key.removeprefix("compaction.") for key in (s.key for s in SETTINGS) if key.startswith("compaction.")}

        assert keys == {field.name for field in dataclasses.fields(model.CompactionSettings)}
