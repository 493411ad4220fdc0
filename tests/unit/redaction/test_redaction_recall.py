"""Planted secrets of every kind must go, wherever they stand; put together here so that no scanner finds them."""

from __future__ import annotations

import base64
import json

import pytest

from lcm.redaction.patterns import RULES, describe_rules
from lcm.redaction.scrub import MARK, Scrubber

SCRUBBER = Scrubber()
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9nP2rS5uV8xY1zA4cD7fG0hJ3k"
BASE64 = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kA"


def _pem(kind: str, line_end: str = "\n") -> str:
    lines = [f"-----BEGIN {kind}-----", "MIIE" + BASE64[:60], BASE64[:64], BASE64[:20] + "==", f"-----END {kind}-----"]
    return line_end.join(lines)


SECRETS = {
    "aws-access-key-id": "AKIA" + "Q3EGV7ZK2MN5PT6X",
    "github-token": "ghp_" + MIXED[:36],
    "github-oauth": "gho_" + MIXED[:36],
    "github-server": "ghs_" + MIXED[:36],
    "github-fine-grained-token": "github_pat_" + MIXED[:22] + "_" + MIXED[:59],
    "gitlab-token": "glpat-" + MIXED[:20],
    "anthropic-key": "sk-ant-" + "api03-" + MIXED + "-" + MIXED[:27] + "AA",
    "openrouter-key": "sk-or-" + "v1-" + HEX,
    "openai-key": "sk-" + MIXED[:48],
    "openai-project-key": "sk-proj-" + MIXED[:40] + "_" + MIXED[:30],
    "google-api-key": "AIza" + "Sy" + MIXED[:33],
    "google-oauth-token": "ya29." + "a0Af" + MIXED,
    "google-oauth-secret": "GOCSPX-" + MIXED[:28],
    "slack-token": "xoxb-" + "123456789012-1234567890123-" + MIXED[:24],
    "slack-app-token": "xapp-" + "1-A012345678-1234567890123-" + HEX,
    "slack-webhook": "https://hooks.slack" + ".com/services/T0123ABCD/B0123ABCD/" + MIXED[:24],
    "stripe-key": "sk_live_" + MIXED[:24],
    "stripe-restricted": "rk_live_" + MIXED[:24],
    "stripe-test": "sk_test_" + MIXED[:24],
    "stripe-webhook-secret": "whsec_" + MIXED[:32],
    "twilio-key": "SK" + HEX[:32],
    "twilio-account": "AC" + HEX[:32],
    "sendgrid-key": "SG." + MIXED[:22] + "." + MIXED[:43],
    "mailgun-key": "key-" + HEX[:32],
    "mailchimp-key": HEX[:32] + "-us12",
    "npm-token": "npm_" + MIXED[:36],
    "pypi-token": "pypi-" + "AgEIcHlwaS5vcmc" + MIXED,
    "rubygems-token": "rubygems_" + HEX[:48],
    "docker-token": "dckr_pat_" + MIXED[:27],
    "huggingface-token": "hf_" + MIXED[:34],
    "groq-key": "gsk_" + MIXED[:52],
    "xai-key": "xai-" + MIXED + MIXED[:16],
    "perplexity-key": "pplx-" + MIXED[:48],
    "replicate-token": "r8_" + MIXED[:37],
    "shopify-token": "shpat_" + HEX[:32],
    "vault-token": "hvs." + MIXED + MIXED[:30],
    "terraform-token": MIXED[:14] + ".atlasv1." + MIXED,
    "doppler-token": "dp.pt." + MIXED[:43],
    "digitalocean-token": "dop_v1_" + HEX,
    "databricks-token": "dapi" + HEX[:32],
    "linear-key": "lin_api_" + MIXED[:40],
    "notion-token": "ntn_" + MIXED[:46],
    "figma-token": "figd_" + MIXED[:40],
    "postman-key": "PMAK-" + HEX[:24] + "-" + HEX[:34],
    "grafana-token": "glsa_" + MIXED[:32] + "_" + HEX[:8],
    "newrelic-key": "NRAK-" + MIXED[:27].upper(),
    "sentry-token": "sntrys_" + MIXED[:50],
    "atlassian-token": "ATATT3" + MIXED,
    "tailscale-key": "tskey-" + "auth-" + MIXED[:12] + "-" + MIXED[:32],
    "supabase-token": "sbp_" + HEX[:40],
    "planetscale-token": "pscale_tkn_" + MIXED[:43],
    "pulumi-token": "pul-" + HEX[:40],
    "fly-token": "fo1_" + MIXED[:43],
    "onepassword-token": "ops_" + "eyJ" + MIXED + MIXED,
    "age-secret-key": "AGE-SECRET-KEY-1" + MIXED[:58].upper(),
    "square-token": "sq0atp-" + MIXED[:22],
    "airtable-token": "airtable pat" + MIXED[:14] + "." + HEX,
    "telegram-bot-token": "123456789" + ":AA" + MIXED[:33],
    "discord-webhook": "https://discord" + ".com/api/webhooks/123456789012345678/" + MIXED + "abcd",
    "discord-token": "bot " + "MTIz" + MIXED[:20] + "." + MIXED[:6] + "." + MIXED[:38],
    "teams-webhook": "https://acme.webhook.office" + ".com/webhookb2/" + HEX + "@" + HEX[:32],
    "json-web-token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + "." + MIXED[:43],
    "azure-account-key": "AccountName=acme;AccountKey=" + BASE64 + "==;EndpointSuffix=x",
    "azure-signature": "https://acme.blob.core.windows.net/c?sv=2024&sig=" + MIXED[:43] + "%3D",
    "bearer-token": "Authorization: Bearer " + MIXED[:40],
    "token-header": "Authorization: token " + HEX[:40],
    "basic-credential": "Authorization: Basic " + base64.b64encode(b"admin:s3cr3t" + b"-pw").decode(),
    "url-password": "postgres://app:" + "Tr0ub4dor&3" + "@db.internal:5432/app",
    "url-user-and-token": "https://bob:" + HEX[:30] + "@git.acme.dev/x.git",
    "url-token": "https://" + HEX[:40] + "@github.com/acme/x.git",
    "npmrc-auth": "//registry.npmjs.org/:_authToken=" + MIXED[:36],
    "netrc-password": "machine api.acme.dev login bob password " + "hunter2x",
    "curl-user": "curl -u bob:" + "hunter2x" + " https://api.acme.dev",
    "sshpass-password": "sshpass -p " + "hunter2x" + " ssh bob@acme",
}

#: The part of each planted text that must be gone, where it is not the whole.
CORE = {
    "slack-webhook": MIXED[:24],
    "discord-webhook": MIXED,
    "discord-token": MIXED[:38],
    "teams-webhook": HEX,
    "azure-account-key": BASE64,
    "azure-signature": MIXED[:43],
    "bearer-token": MIXED[:40],
    "token-header": HEX[:40],
    "basic-credential": SECRETS["basic-credential"].rsplit(" ", 1)[1],
    "url-password": "Tr0ub4dor",
    "url-user-and-token": HEX[:30],
    "url-token": HEX[:40],
    "npmrc-auth": MIXED[:36],
    "netrc-password": "hunter2x",
    "curl-user": "hunter2x",
    "sshpass-password": "hunter2x",
}

CONTEXTS = {
    "prompt": "please use {} for this, thanks",
    "cjk": "请使用「{}」。然后😀{}😀",
    "shell": "cd /srv && echo '{}' | ./deploy.sh --yes\r\n",
    "dotenv": 'DEBUG=1\nVALUE_A={}\nVALUE_B="{}"\nPORT=8080\n',
    "source": 'def run() -> None:\n    client = connect("{}", timeout=3)\n',
    "alone": "{}",
    "coloured": "\x1b[32m{}\x1b[0m",
}


@pytest.mark.parametrize("kind", sorted(SECRETS))
class TestPlantedSecrets:
    @pytest.mark.parametrize("context", sorted(CONTEXTS))
    def test_secret_is_redacted_in(self, kind: str, context: str) -> None:
        """A planted secret is gone from every kind of text, and what stood around it is still there."""
        before, _, after = CONTEXTS[context].partition("{}")
        text = CONTEXTS[context].replace("{}", SECRETS[kind])

        scrubbed = SCRUBBER.scrub(text)

        assert CORE.get(kind, SECRETS[kind]) not in scrubbed.text
        assert MARK in scrubbed.text
        assert scrubbed.text.startswith(before)
        assert scrubbed.text.endswith(after.rpartition("{}")[2])

    def test_json_text_stays_valid(self, kind: str) -> None:
        """In JSON text inside JSON text the secret goes, and both stay valid."""
        inner = json.dumps({"command": f"run\n{SECRETS[kind]}\n", "count": 3})
        outer = json.dumps({"input": inner})

        scrubbed = SCRUBBER.scrub(outer).text

        assert CORE.get(kind, SECRETS[kind]) not in scrubbed
        assert json.loads(json.loads(scrubbed)["input"])["count"] == 3


ASSIGNMENTS = [
    'password = "{}"',
    "password = '{}'",
    "const password = `{}`;",
    'password: str = "{}"',
    'let db_password: &str = "{}";',
    '"password": "{}",',
    "'password' => '{}',",
    "spring.datasource.password={}",
    "PASSWORD={}",
    'export DB_PASSWORD="{}"',
    "DB_PASSWORD={} ./run.sh",
    "mysql --password={} -h db",
    "tool --password {} --verbose",
    'tool --password "{}"',
    "  password: {}",
    "  password: '{}'",
    "Password: {}",
    'os.environ["DB_PASSWORD"] = "{}"',
    'process.env.DB_PASSWORD ||= "x"; dbPassword = "{}"',
    "Server=db;Uid=sa;Pwd={};Database=x",
    "<password>{}</password>",
    '- name: DB_PASSWORD\n  value: "{}"',
    '{"name": "DB_PASSWORD", "value": "{}"}',
    'if password == "{}":',
    'login(user="bob", password="{}")',
    "ENV DB_PASSWORD {}",
    'smtp = {auth: {user: "bob", pass: "{}"}}',
    "${DB_PASSWORD:-{}}",
    "https://acme.dev/login?user=bob&password={}&next=1",
]
TOKEN_NAMES = [
    "api_key", "apiKey", "API_KEY", "x-api-key", "api key", "client_secret", "clientSecret", "SECRET_KEY",
    "auth_token", "accessToken", "aws_secret_access_key", "private_key", "credentials",
    "app.jwt.secret", "encryption-key", "GITHUB_TOKEN_PROD",
]  # fmt: skip


class TestAssignments:
    @pytest.mark.parametrize("template", ASSIGNMENTS)
    @pytest.mark.parametrize("password", ["hunter2x", "Tr0ub4dor!9", "p@sswrd-1-Zq"])
    def test_password_is_redacted_in(self, template: str, password: str) -> None:
        """A password without any known prefix goes from every way to assign it, and the name stays."""
        text = template.replace("{}", password)

        assert SCRUBBER.scrub(text).text == template.replace("{}", MARK)

    @pytest.mark.parametrize("template", ASSIGNMENTS)
    def test_password_is_redacted_in_json_text_of(self, template: str) -> None:
        """The same with the assignment inside JSON text, where its quotes are escaped."""
        text = json.dumps({"content": "first\n" + template.replace("{}", "hunter2x") + "\nlast"})

        assert json.loads(SCRUBBER.scrub(text).text) == {"content": "first\n" + template.replace("{}", MARK) + "\nlast"}

    @pytest.mark.parametrize("name", TOKEN_NAMES)
    @pytest.mark.parametrize(
        "value", [HEX[:32], MIXED[:24], "a1B2/c3D4+e5F6==", "550e8400-e29b-41d4-a716-446655440000"]
    )
    def test_key_is_redacted_under(self, name: str, value: str) -> None:
        """A random value goes under every name of a key or token, quoted or not."""
        text = f'{name} = "{value}"\n{name}: {value}\n'

        assert SCRUBBER.scrub(text).text == f'{name} = "{MARK}"\n{name}: {MARK}\n'

    def test_escaped_quotes_belong_to_the_value(self) -> None:
        """A password that holds an escaped quote goes as a whole."""
        assert SCRUBBER.scrub(r'password = "ab\"cd1234"').text == f'password = "{MARK}"'

    def test_cut_text_still_hides_the_value(self) -> None:
        """A quoted password whose closing quote was cut off goes too."""
        assert SCRUBBER.scrub('password = "hunter2x').text == f'password = "{MARK}'


class TestPrivateKeys:
    @pytest.mark.parametrize(
        "kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    )
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n", "\\\\n", '\\n" +\n    "', "\n    12→", "\n> "])
    def test_block_is_redacted(self, kind: str, line_end: str) -> None:
        """A whole key block is one replacement, with real, escaped, quoted or numbered line ends."""
        assert SCRUBBER.scrub(f"key:\n{_pem(kind, line_end)}\nend").text == f"key:\n{MARK}\nend"

    def test_block_without_footer_is_redacted(self) -> None:
        """When the footer was cut off, the header and the lines of the key go, and the prose after them stays."""
        cut = "\n".join(_pem("RSA PRIVATE KEY").split("\n")[:3])

        assert SCRUBBER.scrub(f"{cut}\n\n[output was cut]").text == f"{MARK}\n\n[output was cut]"

    def test_two_blocks_are_two_replacements(self) -> None:
        """Two keys in a row are counted as two."""
        assert SCRUBBER.scrub(_pem("PRIVATE KEY") + "\n" + _pem("PRIVATE KEY")).counts == {"built_in": 2}

    def test_encrypted_key_without_footer_is_redacted(self) -> None:
        """The clear header lines of an encrypted key do not hide its body."""
        text = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n{BASE64[:64]}\n"

        assert SCRUBBER.scrub(text).text == f"{MARK}\n"


class TestPlaces:
    def test_adjacent_secrets_are_both_redacted(self) -> None:
        """Secrets with one character between them, or several in a line, all go."""
        first, second = SECRETS["github-token"], SECRETS["npm-token"]

        assert SCRUBBER.scrub(f"{first},{second} {first}\n{second}").text == f"{MARK},{MARK} {MARK}\n{MARK}"

    def test_secret_after_an_escape_that_ends_in_a_letter(self) -> None:
        """A JSON escape directly before a token does not hide it."""
        assert SCRUBBER.scrub("a\\n" + SECRETS["openai-key"] + "\\tb").text == f"a\\n{MARK}\\tb"

    def test_environment_value_with_punctuation_goes_whole(self) -> None:
        """In a listing of variables the value is the rest of the line."""
        assert SCRUBBER.scrub("A=1\nDB_PASSWORD=p,a;s&s1|x\nB=2").text == f"A=1\nDB_PASSWORD={MARK}\nB=2"


class TestRuleTable:
    def test_every_rule_is_documented(self) -> None:
        """The docstring of the table names every rule."""
        from lcm.redaction import patterns

        documented = patterns.__doc__ or ""

        assert [rule.name for rule in RULES if rule.name not in documented] == []

    def test_names_are_unique_and_categories_given(self) -> None:
        """`describe_rules` lists each rule once, all built in."""
        described = describe_rules()

        assert len({name for name, _ in described}) == len(described)
        assert {category for _, category in described} == {"built_in"}

    def test_keywords_are_lower_case(self) -> None:
        """Keywords are compared with lower-cased text, so an upper-case one would never be found."""
        assert [rule.name for rule in RULES if not rule.keywords or any(k != k.lower() for k in rule.keywords)] == []
