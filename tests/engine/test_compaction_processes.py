"""Compactions that are killed, and compactions that meet: processes of their own over one store."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.settings.load import load_settings
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.choose import choose_summarizer
from tests.engine.context_proofs import (
    import_file,
    open_calls,
    opened,
    reached_message_ids,
    require_true_figures,
)
from tests.engine.lcm_processes import DEEP, LcmHome, summarizes, wait_for
from tests.engine.long_sessions import append_transcript, session_records, write_transcript
from tests.model_server import AnswerScript, ModelAnswer, ModelRequest, ModelServer, held

MESSAGES = 600
RECORDS = session_records(MESSAGES + 20)

#: A process that kills itself behind the n-th call of a method; n is its first argument.
_KILLED = """
import os, signal, sys
from importlib import import_module
from lcm.cli.main import main
place, left = {place!r}, {number}
module, owner, name = place.rsplit(".", 2)
owner = getattr(import_module(module), owner)
real = getattr(owner, name)
async def killed(*args, **kwargs):
    global left
    result = await real(*args, **kwargs)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(owner, name, killed)
main()
"""


@pytest.fixture
def home(tmp_path: Path) -> LcmHome:
    """A home with one imported session of 600 messages, compacted offline unless a model is named."""
    imported = LcmHome(tmp_path / "home", {**DEEP, "LCM_SUMMARY_PROVIDER": "offline"})
    path = write_transcript(tmp_path / "session.jsonl", RECORDS[:MESSAGES])
    assert asyncio.run(import_file(imported.home, path)) == 1
    return imported


async def require_whole(project: ProjectStorage, messages: int = MESSAGES) -> int:
    """The context stands for every message once, in order, by whole passes only; returns how many were stored."""
    stored = await project.conversations.list_messages(1)
    assert [message.message_id for message in stored] == await reached_message_ids(project, 1)
    assert len(stored) == messages
    await require_true_figures(project, 1)
    return len(await project.summaries.list_summaries(1))


class TestKilled:
    @pytest.mark.parametrize(
        ("place", "number", "passes"),
        [
            ("lcm.storage.core.pass_storage.PassStorage.require_range", 2, 1),
            ("lcm.storage.core.pass_storage.PassStorage.insert_summary", 2, 1),
            ("lcm.storage.core.pass_storage.PassStorage.insert_links", 3, 2),
            ("lcm.storage.core.pass_storage.PassStorage.replace", 2, 1),
            ("lcm.compaction.run.ConversationRun.attempt", 2, 2),
        ],
    )
    async def test_at_every_step_of_storing_a_pass(
        self, home: LcmHome, place: str, number: int, passes: int | None
    ) -> None:
        """Killed inside the transaction the pass is gone, killed behind it the pass is there; a second run finishes."""
        with home.started("compact", main=_KILLED.format(place=place, number=number)) as running:
            assert await asyncio.to_thread(running.wait, 120) == -signal.SIGKILL

        async with opened(home.home) as project:
            assert await require_whole(project) == passes or passes is None
        assert (await asyncio.to_thread(home.compact))["stop_reason"] == "done"
        async with opened(home.home) as project:
            await require_whole(project)

    @pytest.mark.timeout(1200)
    @pytest.mark.parametrize(
        ("seed", "times"), [(1, 2), *(pytest.param(seed, 5, marks=pytest.mark.long) for seed in range(2, 14))]
    )
    async def test_at_random_moments(self, home: LcmHome, seed: int, times: int) -> None:
        """Killed in calls and between them: always whole passes, at most one open call a kill, then done."""
        chance = random.Random(seed)
        passes = 0
        with ModelServer() as server:
            modelled = home.with_model(server)
            for kills in range(1, times + 1):
                await asyncio.to_thread(kill_once, modelled, server, chance)
                async with opened(home.home) as project:
                    before, passes = passes, await require_whole(project)
                    assert before <= passes
                    assert await open_calls(project, 1) <= kills
            server.answer(summarizes)
            result = await asyncio.to_thread(modelled.compact)
        async with opened(home.home) as project:
            assert (result["stop_reason"], await require_whole(project)) == ("done", passes + result["passes"])
            assert max(await project.context.list_depths(1)) >= 2


def kill_once(home: LcmHome, server: ModelServer, chance: random.Random) -> None:
    """Kill a compaction at a random moment after one of its first calls has arrived."""
    wanted = len(server.requests) + chance.randint(1, 3)
    arrived = threading.Event()

    def script(request: ModelRequest) -> ModelAnswer:
        if len(server.requests) >= wanted:
            arrived.set()
        return slow(summarizes(request))

    server.answer(script)
    with home.started("compact") as running:
        wait_for(arrived, running)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(timeout=chance.uniform(0, 0.12))
    assert running.returncode == -signal.SIGKILL


def slow(answer: ModelAnswer) -> ModelAnswer:
    """A model that takes its time, so that about half of the moments fall into its calls."""
    done = threading.Event()
    threading.Timer(0.03, done.set).start()
    return held(answer, done)


class TestTogether:
    async def test_two_processes_double_nothing(self, home: LcmHome) -> None:
        """Both are in their first call before either is answered; each pass is stored by one, and both end well."""
        with ModelServer() as server:
            server.answer(answers_two(server))
            modelled = home.with_model(server)
            results = await asyncio.gather(*(asyncio.to_thread(modelled.compact) for _ in range(2)))

        assert {result["stop_reason"] for result in results} <= {"done", "context_changed"}
        async with opened(home.home) as project:
            assert await require_whole(project) == sum(result["summaries_created"] for result in results)
            assert sum(result["model_calls"] for result in results) == len(await project.model_calls.list_calls(1))
            assert await open_calls(project, 1) == 0

    async def test_two_sweeps_of_one_process_double_nothing(self, home: LcmHome) -> None:
        """The same holds for two tasks over one open project."""
        with ModelServer() as server:
            server.answer(answers_two(server))
            settings = load_settings(environ=home.with_model(server).environment)
            async with opened(home.home) as project:
                policy = CompactionPolicy.manual(settings)
                compactors = [Compactor(choose_summarizer(settings), policy, str) for _ in range(2)]
                results = await asyncio.gather(*(sweep_conversation(each, project, 1) for each in compactors))

                assert {result.stop_reason for result in results} <= {StopReason.DONE, StopReason.CONTEXT_CHANGED}
                assert await require_whole(project) == sum(result.summaries_created for result in results)

    async def test_messages_that_arrive_meanwhile_stay_behind_the_summaries(
        self, home: LcmHome, tmp_path: Path
    ) -> None:
        """Twenty records imported during the first call are in context as they are, in order, behind all summaries."""
        arrived, imported = threading.Event(), threading.Event()

        def script(request: ModelRequest) -> ModelAnswer:
            arrived.set()
            return held(summarizes(request), imported)

        with ModelServer(script) as server, home.with_model(server).started("compact", "--json") as running:
            await asyncio.to_thread(wait_for, arrived, running)
            append_transcript(tmp_path / "session.jsonl", RECORDS[MESSAGES:])
            await import_file(home.home, tmp_path / "session.jsonl")
            imported.set()
            await asyncio.to_thread(running.communicate, None, 240)

        assert running.returncode == 0
        async with opened(home.home) as project:
            assert await require_whole(project, MESSAGES + 20) > 0
            items = await project.context.list_items(1)
            assert [item.is_message for item in items[-28:]] == [True] * 28
            assert not any(item.is_message for item in items[:-40])


def answers_two(server: ModelServer) -> AnswerScript:
    """Nobody is answered before two requests have arrived."""
    both = threading.Event()

    def script(request: ModelRequest) -> ModelAnswer:
        if len(server.requests) >= 2:
            both.set()
        return held(summarizes(request), both)

    return script
