"""A fork's context is its own: what it leaves out stays in its base."""

from __future__ import annotations

from lcm.domain.messages import Exclusion
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation, make_messages


class TestExcludeInAFork:
    async def test_a_base_message_leaves_the_fork_only(self, project: ProjectStorage) -> None:
        """Excluding a message of the base takes it out of the fork; the base still shows it, unmarked."""
        base = await project.conversations.create_conversation(make_conversation())
        stored = await project.conversations.append_messages(base.conversation_id, make_messages(3))
        ids = [message.message_id for message in stored]
        await project.context.append_messages(base.conversation_id, ids)
        fork = await project.conversations.create_conversation(make_conversation("session-2"))
        await project.context.copy_base(fork.conversation_id, base.conversation_id, ids[2])

        excluded = await project.context.exclude_messages(fork.conversation_id, [ids[1]], Exclusion.REWOUND)

        assert excluded == 1
        of_fork = await project.context.list_items(fork.conversation_id)
        assert [item.ref.message_id for item in of_fork] == [ids[0], ids[2]]
        of_base = await project.context.list_items(base.conversation_id)
        assert [item.ref.message_id for item in of_base] == ids
        assert (await project.conversations.get_message(ids[1])).exclusion is None
