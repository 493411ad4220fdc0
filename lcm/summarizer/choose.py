"""Which summarizer the settings ask for."""

from __future__ import annotations

from lcm.errors import InvalidSetting
from lcm.settings.model import Settings
from lcm.summarizer.contract import Summarizer
from lcm.summarizer.litellm_client import LiteLlmSummarizer
from lcm.summarizer.offline import OfflineSummarizer


def choose_summarizer(settings: Settings) -> Summarizer:
    """The configured summarizer: `auto` takes the model when one is named, else the offline one.

    A configured model that fails later is an error of that call; nothing falls back to the offline summarizer.

    Raises:
        InvalidSetting: the provider is `litellm` and no model is named.
    """
    wanted = settings.summarizer
    if wanted.provider == "offline" or (wanted.provider == "auto" and not wanted.model):
        return OfflineSummarizer()
    if not wanted.model:
        raise InvalidSetting(
            "The summarizer litellm needs a model; set LCM_SUMMARY_MODEL to provider/name, or LCM_SUMMARY_PROVIDER to"
            " offline."
        )
    return LiteLlmSummarizer(
        wanted.model,
        base_url=wanted.base_url or None,
        api_key=wanted.api_key,
        timeout_s=wanted.timeout_s,
        max_attempts=wanted.max_attempts,
        max_input_tokens=wanted.max_input_tokens,
    )
