"""What only looks like a secret stays exactly as it is: references, types, placeholders, digests, prose."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lcm.redaction.scrub import Scrubber

SCRUBBER = Scrubber()
DIGEST = hashlib.sha256(b"content").hexdigest()
CORPUS = Path(__file__).resolve().parents[4] / "shared/data/transcripts"

UNTOUCHED = [
    # references in source code
    'password = os.environ["DB_PASSWORD"]',
    'password = os.environ.get("DB_PASSWORD_2", None)',
    'token = os.getenv("GITHUB_TOKEN")',
    "const token = process.env.GITHUB_TOKEN;",
    "apiKey: process.env.OPENAI_API_KEY2,",
    "secret = settings.SECRET",
    "secret_key=settings.jwt.secret_key_v2",
    "api_key=api_key",
    "api_key=self._api_key",
    "client = OpenAI(api_key=api_key2, timeout=30)",
    "password=password1",
    "password: userInput2",
    "token = tokens[0]",
    "token=parts[12]",
    "password = getPassword()",
    "password = get_password(user1, 'db')",
    "secret = hashlib.sha256(data1).hexdigest()",
    "secret = secrets.token_hex(16)",
    "token = await this.auth.getToken2(request)",
    "access_token = response.json()['access_token']",
    "private_key = load_pem_private_key(data1, None)",
    "if token == expected_token2:",
    'password := viper.GetString("db.password")',
    'let password = env::var("DB_PASSWORD")?;',
    'String password = System.getenv("DB_PASSWORD");',
    "return jwt.sign(payload, secretKey, { algorithm: 'HS256' })",
    "token_count = 123456",
    "max_tokens: 200000",
    "total_token=12345678",
    'tokenizer = "cl100k_base"',
    'next_page_token = "CAUQAA1b2c3d4"',
    "token=0x7ffd5e8a9b10",
    # types and declarations
    "token: str",
    "password: str | None = None",
    'def login(user: str, password: str = "") -> Token1:',
    "  password: string;",
    "  token?: Optional<string>;",
    "password: z.string().min(8).max(64)",
    "api_key: SecretStr = Field(default=None)",
    "password VARCHAR(255) NOT NULL",
    '"password": {"type": "string", "minLength": 8},',
    '"required": ["username", "password", "token2"]',
    "password: Annotated[str, Len(8)]",
    "pub struct Login { pub password: String, pub token: Vec<u8> }",
    # templates, shell and configuration references
    "password: ${DB_PASSWORD}",
    'PASSWORD="$DB_PASSWORD1"',
    "TOKEN=$TOKEN",
    "TOKEN=${TOKEN:?missing}",
    "TOKEN=$(cat /run/secrets/token1)",
    'curl -H "Authorization: Bearer $TOKEN" https://api.acme.dev',
    "curl -H 'Authorization: Bearer ${GITHUB_TOKEN_1}' https://api.acme.dev",
    "password: {{ vault_db_password2 }}",
    'f"postgres://{user}:{password}@{host1}/db"',
    "postgres://${USER}:${PASSWORD}@db:5432/app",
    "mysql --password=%DB_PASSWORD1%",
    'password = "%(db_password1)s"',
    "secret: op://vault1/item2/password",
    "password_file: /run/secrets/db_password1",
    "secret=/run/secrets/db1",
    "POSTGRES_PASSWORD_FILE=/run/secrets/pg1",
    "PWD=/home/bob/project1",
    "--password-stdin < token1.txt",
    "docker login --password-stdin",
    "secretKeyRef:\n  name: db-1\n  key: password1",
    'token: "secrets.GITHUB_TOKEN_2"',
    # placeholders
    "token: <your-token>",
    'API_KEY="your-api-key-1"',
    "OPENAI_API_KEY=sk-your-key-here",
    "OPENAI_API_KEY=sk-...",
    "GITHUB_TOKEN=ghp_" + "x" * 36,
    "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE",
    'password = "xxxxxxxx"',
    'password = "********"',
    "password=changeme",
    'password: "change-me-1"',
    'secret = "example-secret-1"',
    "password: null",
    "password: none",
    'password: ""',
    "token=[REDACTED]",
    'password = "[REDACTED]"',
    "Authorization: Bearer [REDACTED]",
    "postgres://app:[REDACTED]@db/app",
    # words, not values
    'password = "password"',
    "label: Password: required!",
    'placeholder="Enter your password"',
    'password: "The password must be 12 characters."',
    'secret: "my-secret-name-2"',
    'type="password" id="field1"',
    'autocomplete="current-password"',
    "error: invalid token: Unexpected1 at line 2",
    "the bearer authentication-scheme and basic authentication",
    "--- PASS: TestLogin2 (0.00s)",
    "PASS: TestLogin2",
    "ok  github.com/acme/secret  0.012s",
    "unexpected token: identifier1",
    "if text.startswith('-----BEGIN PRIVATE KEY-----'): return hide(text)",
    "between -----BEGIN RSA PRIVATE KEY----- and -----END RSA PRIVATE KEY----- stands base64",
    "password hash $2b$12$ is bcrypt",
    "a sk-fading-circle of task-management1234567890abcdef",
    # digests, ids, data
    "commit " + hashlib.sha1(b"content").hexdigest(),
    f"sha256:{DIGEST}",
    f'"digest": "{DIGEST}"',
    "id=550e8400-e29b-41d4-a716-446655440000",
    '"integrity": "sha512-' + "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ" * 2 + 'q83vEjRWeJCrze8SNFZ4kA=="',
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" * 40,
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2jK9pQ8sT1vW4yZ7bC0eF3hJ6kL9nP2rS5uV8xY1z bob@acme",
    "git@github.com:acme/project.git",
    "https://registry.npmjs.org/@scope/pkg/-/pkg-1.0.0.tgz",
    "http://localhost:3000/@fs/src/main1.ts",
    "ssh://git@acme.dev:2222/repo.git",
    "https://user@acme.dev/path",
    "see https://docs.acme.dev/tokens#api-key:create1",
    "key = 'abc123def456'",
    "cache_key = f'{user}:{page1}'",
    "keyboard: 'qwerty1234'",
    '"ARN": "arn:aws:secretsmanager:us-west-2:123456789012:secret:Database-a1b2c3"',
    'function n({resetPassword:s}){if(!e)return"";let a1=2}',
    'token = r"[-!#$%&*+.0-9a-zA-Z]+"',
    'h("label",{for:"password"},"Password:"),$?e("code",null," 1")',
    '"output_token": "StreamDescription.Shards[-1].ShardId2"',
    "f({accessToken:s})]}):(0,t.jsx)(O2.f,{page1:1})",
    "self._workload_identity_auth = _client.SyncX509WorkloadIdentityAuth(",
]  # fmt: skip


class TestUntouched:
    @pytest.mark.parametrize("text", UNTOUCHED)
    def test_text_is_unchanged(self, text: str) -> None:
        """Nothing in this text is a secret."""
        assert SCRUBBER.scrub(text).text == text

    @pytest.mark.parametrize("text", UNTOUCHED)
    def test_text_between_other_lines_is_unchanged(self, text: str) -> None:
        """Nor is it inside a longer listing, with Windows line ends and text of another script."""
        listing = f"第一行\r\n    {text}\r\n  ...\r\n"

        assert SCRUBBER.scrub(listing).text == listing
        assert SCRUBBER.scrub(listing).replacements == ()


@pytest.mark.corpus
class TestCorpus:
    def test_real_transcripts_hold_no_planted_secret(self) -> None:
        """Transcripts without secrets keep at least 999 of 1,000 lines as they are."""
        files = sorted(CORPUS.rglob("*.jsonl"))
        if not files:
            pytest.skip("no transcripts beside the checkout")

        lines = [line for file in files for line in file.read_text("utf-8", "surrogateescape").splitlines()]
        changed = sum(SCRUBBER.scrub(line).text != line for line in lines)

        assert changed * 1000 <= len(lines)
