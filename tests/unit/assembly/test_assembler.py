from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.assembly import assembler
from lcm.assembly.assembler import AssembledContext, assemble
from lcm.assembly.blocks import JsonBlock
from lcm.assembly.output import to_json, to_xml
from lcm.domain.messages import MessagePart, NewMessage, PartType
from lcm.errors import OutOfRange, UnknownConversation
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation, make_message, make_messages, make_summary


def call_message(call_id: str, *, tokens: int = 10) -> NewMessage:
    part = MessagePart(0, PartType.TOOL_CALL, text="{}", tool_call_id=call_id, tool_name="Bash")
    return make_message("Bash {}", role="assistant", parts=(part,), token_count=tokens)


def result_message(call_id: str, content: str = "done", *, tokens: int = 10) -> NewMessage:
    part = MessagePart(0, PartType.TOOL_RESULT, 0, len(content), tool_call_id=call_id)
    return make_message(content, role="tool", parts=(part,), token_count=tokens)


async def start(project: ProjectStorage, messages: list[NewMessage]) -> int:
    """A conversation with these messages, all in context."""
    conversation = await project.conversations.create_conversation(make_conversation())
    stored = await project.conversations.append_messages(conversation.conversation_id, messages)
    ids = [message.message_id for message in stored]
    await project.context.append_messages(conversation.conversation_id, ids)
    return conversation.conversation_id


async def summarize(project: ProjectStorage, conversation_id: int, count: int, content: str) -> str:
    """Replace the first `count` items, all messages, by a leaf."""
    items = await project.context.list_items(conversation_id, limit=count)
    async with project.transaction() as tx:
        summary = await tx.summaries.insert_summary(make_summary(conversation_id, content))
        await tx.summaries.link_messages(summary.summary_key, [item.ref.message_id or 0 for item in items])
        await tx.context.replace_range(conversation_id, [item.ref for item in items], summary.summary_key)
    return summary.summary_id


def texts(context: AssembledContext) -> list[str]:
    return [str(block.get("text", block["type"])) for message in context.messages for block in message.content]


def blocks(context: AssembledContext) -> list[JsonBlock]:
    return [block for message in context.messages for block in message.content]


class TestAssemble:
    async def test_summaries_come_before_the_tail(self, project: ProjectStorage) -> None:
        """Two summarized and two raw messages give the summary's XML and the two messages."""
        conversation_id = await start(project, make_messages(4, token_count=10))
        summary_id = await summarize(project, conversation_id, 2, "what was said")

        context = await assemble(project, conversation_id, budget=1_000)

        assert texts(context)[0].startswith(f'<summary id="{summary_id}" kind="leaf" depth="0"')
        assert texts(context)[1:] == ["message 2", "message 3"]
        assert (context.token_count, context.items_total, context.tail_items, context.max_depth) == (23, 3, 2, 0)

    async def test_oldest_are_dropped_first(self, project: ProjectStorage) -> None:
        """With room for three of five messages the two oldest are dropped and counted."""
        conversation_id = await start(project, make_messages(5, token_count=10))

        context = await assemble(project, conversation_id, budget=35, fresh_tail_count=1)

        assert texts(context) == ["message 2", "message 3", "message 4"]
        assert (context.items_included, context.dropped_oldest, context.over_budget) == (3, 2, False)

    async def test_tail_over_budget_is_told(self, project: ProjectStorage) -> None:
        """The tail is given whole although it costs more than the budget."""
        conversation_id = await start(project, make_messages(3, token_count=100))

        context = await assemble(project, conversation_id, budget=150, fresh_tail_count=2)

        assert (len(context.messages), context.token_count, context.over_budget) == (2, 200, True)

    async def test_pair_cut_by_the_budget_is_dropped_whole(self, project: ProjectStorage) -> None:
        """A budget that has room for the result but not for its call shows neither."""
        messages = [call_message("a"), result_message("a"), *make_messages(1, token_count=10)]
        conversation_id = await start(project, messages)

        context = await assemble(project, conversation_id, budget=20, fresh_tail_count=1)

        assert texts(context) == ["message 0"]
        assert (context.items_included, context.dropped_results) == (2, ("a",))

    async def test_result_stored_elsewhere_is_found(self, project: ProjectStorage) -> None:
        """A call in the tail gets its result from another conversation of the project."""
        await start(project, [result_message("a", "from afar", tokens=3)])
        conversation_id = await start(project, [call_message("a")])

        context = await assemble(project, conversation_id, budget=100)

        assert blocks(context)[1] == {"type": "tool_result", "tool_use_id": "a", "content": "from afar"}
        assert (context.token_count, context.messages[1].refs) == (13, ("1:0",))

    async def test_found_result_must_fit_outside_the_tail(self, project: ProjectStorage) -> None:
        """An old call whose stored result is larger than the free budget is dropped instead."""
        await start(project, [result_message("a", "x" * 4_000)])
        conversation_id = await start(project, [call_message("a"), *make_messages(1, token_count=10)])

        context = await assemble(project, conversation_id, budget=100, fresh_tail_count=1)

        assert texts(context) == ["message 0"]
        assert context.dropped_calls == ("a",)

    async def test_unanswered_last_call_is_dropped(self, project: ProjectStorage) -> None:
        """A call that still waits for its result is left out, and is told."""
        conversation_id = await start(project, [*make_messages(1), call_message("a")])

        context = await assemble(project, conversation_id, budget=100)

        assert (texts(context), context.dropped_calls) == (["message 0"], ("a",))

    async def test_empty_context(self, project: ProjectStorage) -> None:
        """A conversation without items gives no message and no error."""
        context = await assemble(project, await start(project, []), budget=100)

        assert (context.messages, context.token_count, context.max_depth) == ((), 0, None)

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """An id that names nothing is an error."""
        with pytest.raises(UnknownConversation):
            await assemble(project, 404, budget=100)

    async def test_refuses_a_budget_of_zero(self, project: ProjectStorage) -> None:
        """The budget is checked before anything is read."""
        with pytest.raises(OutOfRange):
            await assemble(project, 404, budget=0)

    async def test_pages_give_what_one_read_gives(
        self, project: ProjectStorage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Reading one item first and doubling gives the context that one large page gives, for every budget."""
        turns = [[*make_messages(1, token_count=7), call_message(f"t{n}"), result_message(f"t{n}")] for n in range(5)]
        conversation_id = await start(project, [message for turn in turns for message in turn])

        for budget in range(1, 150, 9):
            naive = await assemble(project, conversation_id, budget=budget, fresh_tail_count=2)
            with monkeypatch.context() as patch:
                patch.setattr(assembler, "_FIRST_PAGE", 1)
                paged = await assemble(project, conversation_id, budget=budget, fresh_tail_count=2)
            assert paged == naive

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    async def test_no_orphan_survives_any_budget(self, project: ProjectStorage, data: st.DataObject) -> None:
        """For any order of calls, results and prompts and any budget, calls and results come in pairs."""
        prefix = f"{data.draw(st.uuids())}-"
        choices = st.sampled_from([call_message, result_message, None])
        drawn = data.draw(st.lists(st.tuples(choices, st.sampled_from("abc")), max_size=10))
        messages = [make(prefix + name) if make else make_message() for make, name in drawn]
        conversation_id = await start(project, messages)

        context = await assemble(
            project,
            conversation_id,
            budget=data.draw(st.integers(1, 120)),
            fresh_tail_count=data.draw(st.integers(0, 4)),
        )

        calls = [block["id"] for block in blocks(context) if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in blocks(context) if block["type"] == "tool_result"]
        assert calls == results


class TestOutput:
    async def test_json_names_role_content_and_ref(self, project: ProjectStorage) -> None:
        """The JSON shape is plain data: figures, and messages with their blocks and places."""
        context = await assemble(project, await start(project, make_messages(1, token_count=5)), budget=100)

        shown = json.loads(json.dumps(to_json(context)))

        assert shown["messages"] == [
            {"role": "user", "content": [{"type": "text", "text": "message 0"}], "ref": {"messages": ["1:0"]}}
        ]
        assert (shown["token_count"], shown["budget"], shown["over_budget"]) == (5, 100, False)

    async def test_json_of_a_summary_names_its_id(self, project: ProjectStorage) -> None:
        """A summary's ref is its id."""
        conversation_id = await start(project, make_messages(2))
        summary_id = await summarize(project, conversation_id, 2, "all of it")

        shown = to_json(await assemble(project, conversation_id, budget=100))

        assert shown["messages"][0]["ref"] == {"summary_id": summary_id}

    async def test_xml_is_well_formed_and_readable(self, project: ProjectStorage) -> None:
        """Summary, text, call and result are elements of one document."""
        messages = [*make_messages(1), make_message("1 < 2 & 3"), call_message("a"), result_message("a")]
        conversation_id = await start(project, messages)
        await summarize(project, conversation_id, 1, "a <b> & c")

        root = ET.fromstring(to_xml(await assemble(project, conversation_id, budget=1_000)))

        assert [child.tag for child in root] == ["summary", "message", "message", "message"]
        assert root.findtext("message/text") == "1 < 2 & 3"
        assert [each.get("id") for each in root.iter("tool_use")] == ["a"]
