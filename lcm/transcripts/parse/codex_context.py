"""Who wrote a text that Codex sends with role user: a person, a person's action, or the client; and the cwd in it."""

from __future__ import annotations

import re
from enum import Enum, auto

from lcm.domain.records import JsonObject

#: Beginnings, lowercase, of texts the client adds by itself: instructions, surroundings, state.
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# agents.md instructions",
    "<permissions instructions>",
    "<skills_instructions>",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<recommended_plugins>",
    "<collaboration_mode>",
    "<personality_spec>",
    "<model_switch>",
    "<task_model_guidance>",
    "<skill>",
    "<goal_context>",
    "<codex_internal_context",
    "<external_",
)
#: Beginnings of texts that are news of the conversation, though nobody typed them: they stay in context.
_REPORTED = ("<user_shell_command>", "<subagent_notification>", "<hook_prompt", "<turn_aborted>")
_HEAD = 256
_CONTEXT_HEAD = 4096
#: Until about 0.2x the context is prose; later it is tags.
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)


class Origin(Enum):
    """Where a text of role user comes from."""

    TYPED = auto()
    REPORTED = auto()
    INJECTED = auto()


def origin_of(text: str, item_kind: str | None = None) -> Origin:
    """Origin of one content item; `item_kind` is the client's own word for it ("user.text"), in the newest versions."""
    head = _head(text)
    if head.startswith(_REPORTED):
        return Origin.REPORTED
    if item_kind is not None and item_kind != "unknown":
        return Origin.TYPED if item_kind.startswith("user.") else Origin.INJECTED
    return Origin.INJECTED if head.startswith(_INJECTED) else Origin.TYPED


def item_kinds(payload: JsonObject) -> list[str | None]:
    """The client's kind of each content item, in order; empty when it does not say."""
    passthrough = payload.get("internal_chat_message_metadata_passthrough")
    kinds = passthrough.get("content_item_kinds") if isinstance(passthrough, dict) else None
    return [kind if isinstance(kind, str) else None for kind in kinds] if isinstance(kinds, list) else []


def working_directory(text: str) -> str | None:
    """The cwd told in an `<environment_context>` text; None in every other text."""
    if not _head(text).startswith("<environment_context>"):
        return None
    found = _CWD.search(text, 0, _CONTEXT_HEAD)
    return (found[1] or found[2]).strip() or None if found else None


def _head(text: str) -> str:
    return text[:_HEAD].lstrip().lower()
