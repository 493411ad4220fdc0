"""What files hold, in the assembled context."""

from __future__ import annotations

from lcm.assembly.assembler import AssembledContext, assemble
from lcm.domain.large_files import NewLargeFile
from lcm.domain.messages import MessagePart, NewMessage, PartType
from lcm.large_files.reference import reference
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation, make_message

A, B = "file_" + "a" * 16, "file_" + "b" * 16


def line(file_id: str) -> str:
    return reference(file_id, name="a.csv", mime_type=None, size_bytes=5)


async def start(project: ProjectStorage, *messages: NewMessage, summaries: dict[str, str | None] | None = None) -> int:
    """A conversation with these messages in context; A and B are stored with these summaries."""
    conversation_id = (await project.conversations.create_conversation(make_conversation())).conversation_id
    for file_id, summary in (summaries or {A: "CSV: 2 rows", B: "JSON: an object"}).items():
        digest = file_id[-1:].encode() * 32
        new = NewLargeFile(file_id, conversation_id, 5, digest, f"files/{file_id}", exploration_summary=summary)
        await project.large_files.insert_file(new)
    stored = await project.conversations.append_messages(conversation_id, messages)
    await project.context.append_messages(conversation_id, [message.message_id for message in stored])
    return conversation_id


def texts(context: AssembledContext) -> list[str]:
    return [block.get("text") or block["content"] for message in context.messages for block in message.content]


class TestFileSummaries:
    async def test_stand_below_the_reference_and_are_counted(self, project: ProjectStorage) -> None:
        """Eleven characters are three tokens more than what is stored."""
        conversation_id = await start(project, make_message(f"see {line(A)} please", token_count=10))
        context = await assemble(project, conversation_id, budget=1_000)

        assert texts(context) == [f"see {line(A)}\nCSV: 2 rows please"]
        assert context.token_count == 13

    async def test_the_newest_come_first_within_the_budget(self, project: ProjectStorage) -> None:
        """One that does not fit any more is left out; its reference stays."""
        messages = [make_message(line(A), token_count=10), make_message(line(B), token_count=10)]
        conversation_id = await start(project, *messages)
        context = await assemble(project, conversation_id, budget=24)

        assert texts(context) == [line(A), f"{line(B)}\nJSON: an object"]
        assert (context.token_count, context.over_budget) == (24, False)

    async def test_each_stands_once(self, project: ProjectStorage) -> None:
        """Below the newest reference."""
        conversation_id = await start(project, make_message(line(A)), make_message(f"{line(A)} {line(A)}"))

        assert texts(await assemble(project, conversation_id, budget=1_000)) == [
            line(A),
            f"{line(A)}\nCSV: 2 rows {line(A)}",
        ]

    async def test_in_a_tool_result(self, project: ProjectStorage) -> None:
        """A tool's output can be a file too."""
        call = MessagePart(0, PartType.TOOL_CALL, text="{}", tool_call_id="t1", tool_name="Read")
        content = line(A)
        result = MessagePart(0, PartType.TOOL_RESULT, 0, len(content), tool_call_id="t1")
        conversation_id = await start(
            project,
            make_message("Read {}", role="assistant", parts=(call,)),
            make_message(content, role="tool", parts=(result,)),
        )
        context = await assemble(project, conversation_id, budget=1_000)

        assert context.messages[-1].content[0]["content"] == f"{line(A)}\nCSV: 2 rows"

    async def test_what_an_assistant_wrote_stays(self, project: ProjectStorage) -> None:
        """Its words are given back as they were."""
        conversation_id = await start(project, make_message(f"I read {line(A)}", role="assistant"))

        assert texts(await assemble(project, conversation_id, budget=1_000)) == [f"I read {line(A)}"]

    async def test_files_without_a_summary(self, project: ProjectStorage) -> None:
        """Stored before, or not stored at all: the reference stands alone."""
        conversation_id = await start(project, make_message(f"{line(A)} {line(B)}"), summaries={A: None})

        assert texts(await assemble(project, conversation_id, budget=1_000)) == [f"{line(A)} {line(B)}"]
