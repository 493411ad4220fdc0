"""What a finished run leaves for the next one: the same context under the same policy ends the same way."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from lcm.compaction.result import StopReason
from lcm.compaction.run import Compactor, ConversationRun
from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.ids import digest
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.prompts import PROMPT_VERSION

#: How long a run may take says nothing about how it would end.
_NOT_POLICY = ("max_passes", "max_seconds")


def policy_digest(compactor: Compactor, *extra: object) -> bytes:
    """SHA-256 of what an outcome depends on besides the context: policy, summarizer, prompts, and what a mode adds."""
    policy = {name: value for name, value in asdict(compactor.policy).items() if name not in _NOT_POLICY}
    parts = (*sorted(policy.items()), compactor.summarizer.model, PROMPT_VERSION, *extra)
    return digest(*(repr(part) for part in parts))


async def recall(project: ProjectStorage, conversation_id: int, mode: CompactionMode) -> CompactionState | None:
    return await project.compaction_states.find(conversation_id, mode)


async def note(
    run: ConversationRun,
    mode: CompactionMode,
    policy_sha256: bytes,
    reason: StopReason,
    last_summary_key: uuid.UUID | None = None,
) -> None:
    """Remember how a run ended; what others added meanwhile has a later revision and is found as new work."""
    await run.scope.project.compaction_states.note(
        CompactionState(
            conversation_id=run.scope.conversation_id,
            mode=mode,
            context_revision=run.revision,
            policy_sha256=policy_sha256,
            stop_reason=reason.value,
            last_summary_key=last_summary_key,
            noted_at=run.compactor.clock(),
        )
    )
