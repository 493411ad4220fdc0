"""Secrets in a transcript reach no byte of any file of the home; what only looks like one stays as it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.sessions import CWD, SESSION, Record, call, record, result, user, write
from tests.engine.stores import Store

HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9nP2rS5uV8xY1zA4cD7fG0hJ3k"

#: A text with a secret of each kind and the part that must be nowhere; put together so that no scanner finds them here.
SECRETS = {
    "aws": ("AKIA" + "Q3EGV7ZK2MN5PT6X", "Q3EGV7ZK2MN5PT6X"),
    "github": ("ghp_" + MIXED[:36], MIXED[:36]),
    "gitlab": ("glpat-" + MIXED[1:21], MIXED[1:21]),
    "anthropic": ("sk-ant-" + "api03-" + MIXED + "-" + MIXED[:27] + "AA", MIXED),
    "openai": ("sk-" + MIXED[2:50], MIXED[2:50]),
    "google": ("AIza" + "Sy" + MIXED[3:36], MIXED[3:36]),
    "slack": ("xoxb-" + "123456789012-1234567890123-" + MIXED[4:28], MIXED[4:28]),
    "stripe": ("sk_live_" + MIXED[5:29], MIXED[5:29]),
    "npm": ("npm_" + MIXED[6:42], MIXED[6:42]),
    "huggingface": ("hf_" + MIXED[7:41], MIXED[7:41]),
    "sendgrid": ("SG." + MIXED[:22] + "." + MIXED[8:51], MIXED[8:51]),
    "digitalocean": ("dop_v1_" + HEX, HEX),
    "token": ("eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + "." + MIXED[9:52], MIXED[9:52]),
    "bearer": ("Authorization: Bearer " + MIXED[10:50], MIXED[10:50]),
    "url": ("postgres://app:" + "Tr0ub4dor&3" + "@db.internal:5432/app", "Tr0ub4dor"),
    "assignment": ("password = '" + "c0rrect-h0rse-77" + "'", "c0rrect-h0rse-77"),
    "environment": ("API_TOKEN=" + HEX[5:45], HEX[5:45]),
    "private key": (
        "-----BEGIN " + "PRIVATE KEY-----\n" + f"MIIE{MIXED[:56]}\n{MIXED[:60]}\n" + "-----END " + "PRIVATE KEY-----",
        f"MIIE{MIXED[:56]}",
    ),
}
ALL = "\n".join(f"{kind}: {text} ." for kind, (text, _) in SECRETS.items())
CODE = """
token = os.environ["API_TOKEN"]
password = getpass.getpass("Password: ")
def login(user: str, password: str, *, api_key: str | None = None) -> Token:
    return client.post("/login", json={"user": user, "password": password})
export GITHUB_TOKEN=$GITHUB_TOKEN
SECRET_KEY = settings.secret_key
"""


def everywhere() -> Iterator[Record]:
    """Every place of a transcript that text can stand in, each with all secrets."""
    media = base64.b64encode(ALL.encode()).decode()
    document = {"type": "base64", "media_type": "text/plain", "data": media}
    thinking = {"type": "thinking", "thinking": ALL, "signature": "s"}
    redacted_name = f'<file name="{SECRETS["github"][0]}.txt">{ALL * 3}</file>'
    yield user(1, ALL)
    yield record(2, "assistant", [thinking, {"type": "text", "text": ALL}])
    yield call(3, "t1", "Bash", command=ALL, env={"password": "c0rrect-h0rse-77", "nested": [ALL]}, **{ALL: 1})
    yield result(4, "t1", ALL)
    yield user(5, redacted_name)
    yield user(6, [{"type": "document", "title": ALL[:200], "source": document, "context": ALL}])
    yield user(7, ALL, isMeta=True)
    yield record(8, "system", None) | {"subtype": "local_command", "content": ALL}
    yield {"type": "attachment", "sessionId": SESSION, "attachment": {"type": "queued_command", "prompt": ALL}}
    yield {"type": "custom-title", "sessionId": SESSION, "customTitle": ALL[:300]}
    yield {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": f"do {ALL}"}
    yield {"type": "queue-operation", "operation": "remove", "sessionId": SESSION}
    yield {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": f"wait {ALL}"}
    yield record(9, "assistant", [{"type": "text", "text": ALL, "citations": [{"cited_text": ALL}]}])
    yield user(10, [{"type": "unheard_of", "payload": ALL}])


def codex() -> Iterator[Record]:
    """The same places in a Codex rollout."""
    items: list[Record] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ALL}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": ALL}]},
        {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": f'{{"command": {_json(ALL)}}}'},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": _json({"output": ALL, "metadata": {"exit_code": 0}}),
        },
        {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": ALL},
    ]
    head = {"id": "0199aaaa-0000-7000-8000-000000000000", "cwd": CWD, "cli_version": "0.171.0"}
    yield {"timestamp": "2026-02-17T07:00:00Z", "type": "session_meta", "payload": head}
    for item in items:
        yield {"timestamp": "2026-02-17T07:00:01Z", "type": "response_item", "payload": item}


def _json(value: Any) -> str:
    return json.dumps(value)


def leaks(home: Path) -> set[tuple[str, str]]:
    """Kinds of secrets found in files of the home, with the file's name."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    data = {path.name: path.read_bytes() for path in files}
    return {
        (kind, name)
        for kind, (_, core) in SECRETS.items()
        for name, found in data.items()
        if core.encode() in found or core.encode("utf-16-le") in found or base64.b64encode(core.encode()) in found
    }


class TestSecrets:
    def test_the_search_for_them_finds_them(self, tmp_path: Path) -> None:
        """Otherwise the other tests prove nothing."""
        (tmp_path / "file").write_text(ALL)

        assert leaks(tmp_path) == {(kind, "file") for kind in SECRETS}

    @pytest.mark.parametrize("client", ["claude", "codex"])
    async def test_they_are_in_no_byte_of_the_home(self, tmp_path: Path, client: str) -> None:
        """Database, write-ahead log, stored files: while they are open and after they are closed."""
        path = write(tmp_path / "s.jsonl", *(everywhere() if client == "claude" else codex()))
        async with Store(tmp_path / "home", large_file_tokens=200) as store:
            report = await store.import_file(path, client)
            assert report.skipped == []
            assert leaks(tmp_path / "home") == set()

        assert leaks(tmp_path / "home") == set()
        assert report.counts.redactions["built_in"] >= 5 * len(SECRETS)

    @pytest.mark.parametrize("kind", SECRETS)
    async def test_each_leaves_its_mark_alone(self, tmp_path: Path, kind: str) -> None:
        """In a prompt and in a tool's input, where it is JSON text."""
        text, _ = SECRETS[kind]
        path = write(tmp_path / "s.jsonl", user(1, f"use {text} now"), call(2, "t1", "Write", content=f"{text}\n"))
        async with Store(tmp_path / "home") as store:
            await store.import_file(path)
            prompt, written = await store.texts(SESSION)

        assert leaks(tmp_path / "home") == set()
        assert prompt.startswith("use ")
        assert "[REDACTED]" in prompt
        assert "[REDACTED]" in written

    async def test_a_transcript_that_grows_leaks_nothing_in_between(self, tmp_path: Path) -> None:
        """A queued text waits in no checkpoint."""
        lines = list(everywhere())
        path = tmp_path / "s.jsonl"
        for end in range(1, len(lines) + 1):
            async with Store(tmp_path / "home", large_file_tokens=200) as store:
                await store.import_file(write(path, *lines[:end]))
        assert leaks(tmp_path / "home") == set()


class TestCounters:
    async def test_they_count_what_was_stored_once(self, tmp_path: Path) -> None:
        """Three secrets are three, however often the file is read."""
        secret = SECRETS["github"][0]
        path = write(tmp_path / "s.jsonl", user(1, f"{secret} and {SECRETS['npm'][0]}"), call(2, "t1", key=secret))
        async with Store(tmp_path / "home") as store:
            first = await store.import_file(path)
            path.write_bytes(path.read_bytes()[:-1])
            second = await store.import_file(path)
            counted = await (await store.open(CWD)).redaction_admin.get_counts()

        assert first.counts.redactions == {"built_in": 3}
        assert second.counts.redactions == {}
        assert counted == {"built_in": 3}

    async def test_a_copy_in_another_file_is_not_counted(self, tmp_path: Path) -> None:
        """Its messages are known."""
        lines = [user(1, SECRETS["github"][0])]
        async with Store(tmp_path / "home") as store:
            await store.import_all([write(tmp_path / "a.jsonl", *lines), write(tmp_path / "b.jsonl", *lines)])
            assert await (await store.open(CWD)).redaction_admin.get_counts() == {"built_in": 1}


class TestWhatIsNoSecret:
    async def test_code_that_only_names_one_is_stored_unchanged(self, tmp_path: Path) -> None:
        """In a prompt, an output and a tool's input."""
        path = write(tmp_path / "s.jsonl", user(1, CODE), call(2, "t1", content=CODE), result(3, "t1", CODE))
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(path)
            texts = await store.texts(SESSION)

        assert texts == [CODE, f'Read {{"content":{_json(CODE)}}}', CODE]
        assert report.counts.redactions == {}
