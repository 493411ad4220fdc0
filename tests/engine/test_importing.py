"""Which project the lines of a file go to, what links its conversations, and what a file without messages does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lcm.domain.conversations import Conversation, Relation
from lcm.engine import importing
from lcm.errors import IdentityConflict
from lcm.storage.contracts.project import ProjectStorage
from lcm.transcripts.reading import ReadLine
from tests.engine.sessions import CWD, SESSION, Record, assistant, call, dialogue, result, to_bytes, user, write
from tests.engine.stores import Store

OTHER = "99999999-2222-4333-8444-555555555555"
OTHER_CWD = "/home/user/elsewhere"
BARE: Record = {"type": "user", "message": {"role": "user", "content": "yes"}}


def other(number: int, **fields: object) -> Record:
    """A record of a second session in another folder."""
    make = user if number % 2 else assistant
    return make(number, sessionId=OTHER, cwd=OTHER_CWD, **fields)


async def conversation_of(project: ProjectStorage, session_id: str, relation: Relation) -> Conversation:
    [found] = [each for each in await project.conversations.list_of_session(session_id) if each.relation is relation]
    return found


class TestFilesWithoutMessages:
    async def test_a_pretty_printed_file_has_reasons_and_creates_nothing(self, tmp_path: Path) -> None:
        """Every line is told; no home comes into being."""
        path = tmp_path / "s.jsonl"
        path.write_text(json.dumps(user(1), indent=2))
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(path)

        assert len(report.skipped) == len(path.read_text().splitlines())
        assert {skipped.reason for skipped in report.skipped} == {"not JSON", "incomplete last line"}
        assert report.roots == ()
        assert not (tmp_path / "home").exists()

    @pytest.mark.parametrize(
        "lines", [[], [{"type": "summary", "summary": "x"}], [{"type": "custom-title", "customTitle": "Only a title"}]]
    )
    async def test_a_file_of_state_alone_creates_nothing(self, tmp_path: Path, lines: list[Record]) -> None:
        """Empty, a summary of another session, a title; what the lines were is counted."""
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(write(tmp_path / "s.jsonl", *lines))

        assert report.counts.messages_new == 0
        assert not (tmp_path / "home").exists()

    async def test_what_came_before_the_first_message_is_not_lost(self, tmp_path: Path) -> None:
        """A title alone waits in the file until the session has a message."""
        title = {"type": "custom-title", "sessionId": SESSION, "customTitle": "My work"}
        path = tmp_path / "s.jsonl"
        async with Store(tmp_path / "home") as store:
            await store.import_file(write(path, title))
            await store.import_file(write(path, title, user(1)))
            conversation = await conversation_of(await store.open(CWD), SESSION, Relation.ROOT)

        assert conversation.title == "My work"


class TestProjects:
    async def test_a_later_directory_moves_nothing(self, tmp_path: Path) -> None:
        """The first one of the session decides, in later reads too."""
        path = tmp_path / "s.jsonl"
        async with Store(tmp_path / "home") as store:
            await store.import_file(write(path, user(1)))
            await store.import_file(write(path, user(1), assistant(2, cwd="/tmp"), user(3, cwd="/tmp")))
            assert await store.factory.list_roots() == [CWD]

    async def test_without_any_directory_the_files_folder_is_the_project(self, tmp_path: Path) -> None:
        """Something must be."""
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(write(tmp_path / "s.jsonl", BARE))

        assert report.root == str(tmp_path)

    async def test_two_sessions_in_one_file_go_to_their_own_projects(self, tmp_path: Path) -> None:
        """Each by its first directory; the report names both."""
        path = write(tmp_path / "s.jsonl", user(1), other(11), assistant(2), other(12), user(3))
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(path)
            assert report.roots == (CWD, OTHER_CWD)
            assert await store.texts(SESSION, CWD) == ["prompt 1", "answer 2", "prompt 3"]
            assert await store.texts(OTHER, OTHER_CWD) == ["prompt 11", "answer 12"]
            assert {root: len(ids) for root, ids in report.conversations.items()} == {CWD: 1, OTHER_CWD: 1}

    async def test_a_tail_remembers_where_its_sessions_belong(self, tmp_path: Path) -> None:
        """The second session goes on in a third folder."""
        path = tmp_path / "s.jsonl"
        head = [user(1), other(11)]
        async with Store(tmp_path / "home") as store:
            await store.import_file(write(path, *head))
            await store.import_file(write(path, *head, other(12) | {"cwd": "/tmp"}, assistant(2)))
            assert await store.factory.list_roots() == [OTHER_CWD, CWD]
            assert await store.texts(OTHER, OTHER_CWD) == ["prompt 11", "answer 12"]

    async def test_a_given_root_takes_every_session(self, tmp_path: Path) -> None:
        """As `--project` says."""
        path = write(tmp_path / "s.jsonl", user(1), other(11))
        async with Store(tmp_path / "home", root="/given") as store:
            await store.import_file(path)
            assert await store.factory.list_roots() == ["/given"]

    async def test_a_subagent_started_elsewhere_stays_with_its_session(self, tmp_path: Path) -> None:
        """The folder of the session's own file decides."""
        write(tmp_path / f"{SESSION}.jsonl", *dialogue(2))
        agent = user(11, "task", isSidechain=True, agentId="a1", cwd=OTHER_CWD)
        path = write(tmp_path / SESSION / "subagents/agent-a1.jsonl", agent)
        async with Store(tmp_path / "home") as store:
            assert (await store.import_file(path)).root == CWD

    async def test_the_first_sessions_project_is_not_always_the_first_lines(self, tmp_path: Path) -> None:
        """A state line of another folder before the first message creates no project."""
        state = {"type": "attachment", "uuid": "a", "sessionId": OTHER, "cwd": OTHER_CWD, "attachment": {"type": "x"}}
        async with Store(tmp_path / "home") as store:
            await store.import_file(write(tmp_path / "s.jsonl", state, user(1)))
            assert await store.factory.list_roots() == [CWD]


class TestCrashBetweenProjects:
    async def interrupted(self, store: Store, path: Path) -> None:
        """The primary project's batch is refused once, after the other project's was stored."""
        lanes = importing._FileImport._write_lane
        primary = CWD

        async def refuse(self: object, lane: importing._Lane, *rest: object) -> None:
            if lane.root == primary:
                raise OSError
            await lanes(self, lane, *rest)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(importing._FileImport, "_write_lane", refuse)
            with pytest.raises(OSError, match=r"^$"):
                await store.import_file(path)

    async def test_records_without_ids_are_not_counted_twice(self, tmp_path: Path) -> None:
        """The other project knows how far it is: two equal texts stay two, and a third is a third."""
        path = tmp_path / "s.jsonl"
        bare = {**BARE, "sessionId": OTHER}
        lines = [user(1), other(11), bare, bare]
        async with Store(tmp_path / "home") as store:
            await self.interrupted(store, write(path, *lines))
            await store.import_file(path)
            await store.import_file(write(path, *lines, bare))
            assert await store.texts(OTHER, OTHER_CWD) == ["prompt 11", "yes", "yes", "yes"]
            assert await store.texts(SESSION, CWD) == ["prompt 1"]
            assert await store.faults() == []

    async def test_a_file_that_changed_meanwhile_is_read_anew_by_both(self, tmp_path: Path) -> None:
        """A line inserted before what the other project had read is not taken for one it knows."""
        path = tmp_path / "s.jsonl"
        async with Store(tmp_path / "home") as store:
            await self.interrupted(store, write(path, user(1), other(11), other(12)))
            await store.import_file(write(path, user(1), other(11), other(13), other(12)))
            assert await store.texts(OTHER, OTHER_CWD) == ["prompt 11", "prompt 13", "answer 12"]


class TestLinks:
    async def test_the_meta_file_links_a_subagents_file(self, tmp_path: Path) -> None:
        """Though the session's own file was never read."""
        task = user(11, "task", isSidechain=True, agentId="a1")
        path = write(tmp_path / "agent-a1.jsonl", task)
        path.with_name("agent-a1.meta.json").write_text(json.dumps({"toolUseId": "toolu_1", "spawnDepth": 1}))
        async with Store(tmp_path / "home") as store:
            await store.import_file(path)
            agent = await conversation_of(await store.open(CWD), SESSION, Relation.SUBAGENT)

        assert agent.parent_tool_call_id == "toolu_1"

    @pytest.mark.parametrize("meta", [b"", b"[1]", b'{"toolUseId": "a\\u0000b"}', b"[" * 100_000, b"\xff"])
    async def test_a_damaged_meta_file_links_nothing_and_loses_nothing(self, tmp_path: Path, meta: bytes) -> None:
        """It is a hint only."""
        path = write(tmp_path / "agent-a1.jsonl", user(11, "task", isSidechain=True, agentId="a1"))
        path.with_name("agent-a1.meta.json").write_bytes(meta)
        async with Store(tmp_path / "home") as store:
            assert (await store.import_file(path)).counts.messages_new == 1

    async def test_a_link_holds_in_either_order_of_the_files(self, tmp_path: Path) -> None:
        """The session's result names the agent before or after its file is read."""
        main = write(
            tmp_path / "s.jsonl", user(1), call(2, "t1", "Agent"), result(3, "t1", toolUseResult={"agentId": "a1"})
        )
        agent_file = write(tmp_path / "agent-a1.jsonl", user(11, "task", isSidechain=True, agentId="a1"))
        for number, files in enumerate([(main, agent_file), (agent_file, main)]):
            async with Store(tmp_path / f"home{number}") as store:
                await store.import_all(files)
                agent = await conversation_of(await store.open(CWD), SESSION, Relation.SUBAGENT)
                assert agent.parent_tool_call_id == "t1"


class TestResume:
    def files(self, folder: Path) -> tuple[Path, Path]:
        """A session, and a resumed one that begins with copies of its records under the new session id."""
        old = dialogue(4)
        copies = [each | {"sessionId": OTHER} for each in old]
        return (
            write(folder / "old.jsonl", *old),
            write(folder / "new.jsonl", *copies, other(5) | {"cwd": CWD}, other(6) | {"cwd": CWD}),
        )

    async def test_a_resumed_session_starts_with_the_context_of_the_old_one(self, tmp_path: Path) -> None:
        """By reference: the four messages are stored once and stand in both contexts."""
        async with Store(tmp_path / "home") as store:
            await store.import_all(self.files(tmp_path))
            assert len(await store.messages()) == 6
            assert await store.texts(OTHER) == [
                "prompt 1", "answer 2", "prompt 3", "answer 4", "prompt 5", "answer 6",
            ]  # fmt: skip
            assert await store.faults() == []

    async def test_either_order_stores_the_same(self, tmp_path: Path) -> None:
        """Same identities and contents, none twice."""
        old, new = self.files(tmp_path)
        async with Store(tmp_path / "one") as first, Store(tmp_path / "two") as second:
            await first.import_all([old, new])
            await second.import_all([new, old])
            assert await first.messages() == await second.messages()
            assert await second.faults() == []

    async def test_a_base_does_not_go_back_when_a_file_is_read_again(self, tmp_path: Path) -> None:
        """A session of copies alone keeps its context up to the last of them."""
        old = write(tmp_path / "old.jsonl", *dialogue(4))
        copies = [to_bytes(each | {"sessionId": OTHER}) for each in dialogue(4)]
        new = tmp_path / "new.jsonl"
        async with Store(tmp_path / "home") as store:
            await store.import_file(old)
            for lines in (copies, copies[:2], copies[:3]):
                new.write_bytes(b"".join(lines))
                await store.import_file(new)
            assert len(await store.texts(OTHER)) == 4

    async def test_a_rewind_in_the_new_session_leaves_the_old_one_alone(self, tmp_path: Path) -> None:
        """Its messages still stand in its own context."""
        old, new = self.files(tmp_path)
        new.write_bytes(new.read_bytes() + to_bytes(other(7, parentUuid=dialogue(4)[2]["parentUuid"])))
        async with Store(tmp_path / "home") as store:
            await store.import_all([old, new])
            assert len(await store.texts(SESSION)) == 4
            assert await store.faults() == []


class TestConflicts:
    async def test_a_conflict_that_nobody_else_caused_is_an_error(self, tmp_path: Path) -> None:
        """It is not tried again for ever."""

        async def refuse(*_: object) -> None:
            raise IdentityConflict

        async with Store(tmp_path / "home") as store:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(importing._FileImport, "_write_lane", refuse)
                with pytest.raises(IdentityConflict):
                    await store.import_file(write(tmp_path / "s.jsonl", user(1)))

    async def test_a_file_replaced_while_it_is_read_is_read_anew(self, tmp_path: Path) -> None:
        """No checkpoint vouches for bytes that were not read."""
        path = write(tmp_path / "s.jsonl", *dialogue(4))
        longer = write(tmp_path / "new", *dialogue(3, first=21), *dialogue(4))
        add = importing._FileImport._add

        async def replace_then_add(self: importing._FileImport, line: ReadLine) -> None:
            if longer.exists():
                longer.replace(path)
            await add(self, line)

        async with Store(tmp_path / "home") as store:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(importing._FileImport, "_add", replace_then_add)
                await store.import_file(path)
            assert len(await store.messages()) == 7
