"""Secrets in commands, cookies, lists, nested objects and beside underscores go; their look-alikes stay."""

from __future__ import annotations

import json

import pytest

from lcm.redaction.scrub import MARK, JsonValue, Scrubber

SCRUBBER = Scrubber()
PASSWORD = "hunter2x"
RANDOM = "aB3dE6gH9jK2mN5pQ8sT1vW4"
KEYS = [
    "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6",
    "sk-ant-" + "api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b",
    "AKIA" + "Q3EGV7ZK2MN5PT6X",
    "npm_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6",
]

WITH_PASSWORD = [
    "docker login -u bob -p {} ghcr.io",
    "docker login --password {}",
    "podman login -p '{}' quay.io",
    "mysql -u root -p{} app",
    "mysqldump -p'{}' app > app.sql",
    "mysql --password={}",
    "redis-cli -h cache -a {} ping",
    "redis-cli -a '{}'",
    "curl -u bob:{} https://api.acme.dev",
    "curl -sSu 'bob:{}' https://api.acme.dev",
    "curl -d 'a;b' -u bob:{}",
    "curl https://api.acme.dev/?a=1&b=2 -u bob:{}",
    "db.acme.dev:5432:app:bob:{}",
    "*:*:*:bob:{}",
    "echo 'root:{}' | chpasswd",
    'echo "root:{}" | sudo chpasswd',
    "chpasswd <<< 'root:{}'",
    'variable "db_password" {\n  type = string\n  default = "{}"\n}',
    "DB_PASSWORD {}",
    "export DB_PASSWORD {}",
    "machine api.acme.dev\n  login bob\n  password {}",
    "password {}",
    '["--password","{}"]',
    '["run",\n  "--db-password",\n  "{}"]',
    '{"password":["{}"]}',
    '{"passwords":["{}", "{}"]}',
    '{"password":{"value":"{}"}}',
    '{"password":{"type":"text","value":"{}"}}',
    '{"name":"DB_PASSWORD","value":"{}"}',
    '{"value":"{}","name":"DB_PASSWORD"}',
]
WITH_RANDOM = [
    "SECRET_KEY_BASE={}",
    "Cookie: session={}",
    "Set-Cookie: sid={}; Path=/; HttpOnly",
    "Cookie: theme=dark; session={}; csrftoken={}; lang=en",
    '{"api_key":["{}"]}',
    '["--api-key", "{}"]',
]
UNTOUCHED = [
    "mysql -p app",
    "mysql -port=3306",
    "mysql -p$DB_PASSWORD1",
    "mysql app && mkdir -pbuild1/lib",
    "docker run -p 8080:80 web1",
    "docker login -u bob -p $TOKEN_1",
    "redis-cli -a $REDIS_PASSWORD1",
    "localhost:5432:app:bob:password",
    "main.py:5432:10:5:error",
    'echo "root:$PASSWORD1" | chpasswd',
    "Cookie: session=SESSION_ID; theme=dark",
    "Cookie: theme=aB3dE6gH9jK2",
    'variable "db_password" {\n  default = ""\n}',
    'variable "region" {\n  default = "us-east-1a"\n}',
    "MAX_PASSWORD 100000",
    "password field1",
    "password varchar255",
    'add_argument("--password", "--passwd1")',
    '["--password", "--verbose1"]',
    '{"tokens": ["foo", "19June2000"]}',
    '{"password": ["Must be 12 characters"]}',
    '{"password": {"value": "${DB_PASSWORD}"}}',
    '{"value": "a1b2c3d4", "name": "color"}',
]


class TestGaps:
    @pytest.mark.parametrize("template", WITH_PASSWORD)
    def test_password_is_redacted_in(self, template: str) -> None:
        """A password goes and all around it stays, in text and in JSON text."""
        text, expected = template.replace("{}", PASSWORD), template.replace("{}", MARK)

        assert SCRUBBER.scrub(text).text == expected
        assert SCRUBBER.scrub(json.dumps(f"a\n{text}\nb")).text == json.dumps(f"a\n{expected}\nb")

    @pytest.mark.parametrize("template", WITH_RANDOM)
    def test_random_value_is_redacted_in(self, template: str) -> None:
        """A random value goes and all around it stays, in text and in JSON text."""
        text, expected = template.replace("{}", RANDOM), template.replace("{}", MARK)

        assert SCRUBBER.scrub(text).text == expected
        assert SCRUBBER.scrub(json.dumps(f"a\n{text}\nb")).text == json.dumps(f"a\n{expected}\nb")

    @pytest.mark.parametrize("key", KEYS)
    @pytest.mark.parametrize("before", ["my_", "mcp__", "_"])
    def test_underscore_is_a_border(self, key: str, before: str) -> None:
        """A key goes after an underscore, which stays."""
        assert SCRUBBER.scrub(before + key).text == before + MARK

    @pytest.mark.parametrize("text", UNTOUCHED)
    def test_look_alike_is_unchanged(self, text: str) -> None:
        """References, options, counts and words in the same places are no secrets."""
        assert SCRUBBER.scrub(text).text == text

    def test_long_list_is_redacted_item_by_item(self) -> None:
        """However many secrets a list has, only they go, in one pass."""
        text = json.dumps({"passwords": [f"{PASSWORD}{number}" for number in range(40)], "note": "kept"})

        assert json.loads(SCRUBBER.scrub(text).text) == {"passwords": [MARK] * 40, "note": "kept"}


class TestGapsInJsonValues:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (["--password", PASSWORD], ["--password", MARK]),
            ({"passwords": [PASSWORD, PASSWORD]}, {"passwords": [MARK, MARK]}),
            ({"password": {"value": PASSWORD}}, {"password": {"value": MARK}}),
            ({"name": "DB_PASSWORD", "value": PASSWORD}, {"name": "DB_PASSWORD", "value": MARK}),
            ({"value": PASSWORD, "name": "DB_PASSWORD"}, {"value": MARK, "name": "DB_PASSWORD"}),
            ({"Cookie": f"session={RANDOM}; a=b"}, {"Cookie": f"session={MARK}; a=b"}),
        ],
    )
    def test_secret_is_judged_by_what_names_it(self, value: JsonValue, expected: JsonValue) -> None:
        """A flag, an object or a sibling that names a secret announces its value."""
        assert SCRUBBER.scrub_json(value)[0] == expected

    @pytest.mark.parametrize(
        "value",
        [
            ["--password", "--verbose1"],
            ["password", PASSWORD],
            {"name": "color", "value": PASSWORD},
            {"name": "DB_PASSWORD", "value": "${DB_PASSWORD_1}"},
            {"password": {"type": PASSWORD}},
        ],
    )
    def test_look_alike_is_unchanged(self, value: JsonValue) -> None:
        """The next flag, a plain word, another name, a reference and another member are no secrets."""
        assert SCRUBBER.scrub_json(value) == (value, {})
