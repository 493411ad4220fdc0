r"""The built-in secret rules, as data: what published scanners look for, in RE2 syntax, in order of precedence.

Keys with a known prefix:
    aws-access-key-id, github-token, github-fine-grained-token, gitlab-token, anthropic-key, openai-key,
    openrouter-key, google-api-key, google-oauth-token, google-oauth-secret, slack-token, slack-webhook, stripe-key,
    stripe-webhook-secret, twilio-key, sendgrid-key, mailgun-key, mailchimp-key, npm-token, pypi-token,
    rubygems-token, docker-token, huggingface-token, groq-key, xai-key, perplexity-key, replicate-token, shopify-token,
    vault-token, terraform-token, doppler-token, digitalocean-token, databricks-token, linear-key, notion-token,
    figma-token, postman-key, grafana-token, newrelic-key, sentry-token, atlassian-token, tailscale-key,
    supabase-token, planetscale-token, pulumi-token, fly-token, onepassword-token, age-secret-key, square-token,
    airtable-token, telegram-bot-token, discord-webhook, discord-token, teams-webhook

Secrets with a structure:
    private-key-block, private-key-start, json-web-token, azure-account-key, azure-signature, aws-secret-key,
    authorization-header, bearer-token, basic-credential, url-password, url-token, npmrc-auth, netrc-password,
    curl-user, sshpass-password, login-password, mysql-password, redis-password, chpasswd-password, pgpass-line,
    cookie

Values under a secret name (password, passphrase, secret, token, credential, api key, private key, ...):
    quoted-assignment, bare-assignment, environment-line, command-line-flag, xml-element, name-value-pair,
    value-name-pair, spaced-assignment, argument-pair, list-assignment, nested-value, terraform-default

The secret is the last group that took part in the match, or the whole match when the regex has no group; a group called
`name` is the name it is assigned to. With `items`, what was found holds several secrets, each found by that regex.
A rule runs only where one of its keywords (lower case, found without regard to case) occurs in the text: a literal that
every match holds, or for shapes without one, a word that stands near them; with `needs`, one of those must occur too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from lcm.redaction import plausibility
from lcm.redaction.plausibility import Judge

BUILT_IN = "built_in"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: its shape, the literals that announce it, and who judges a match."""

    name: str
    regex: str
    keywords: tuple[str, ...]
    judge: Judge = plausibility.is_real_key
    items: str = ""
    needs: tuple[str, ...] = ()


#: Where a token may begin: at a word boundary, after an underscore, or after an escape (JSON, URL, terminal colour)
#: that ends in a letter.
_LEFT = r"(?:\b|_|\\+[nrtbf]|\\+u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m|\\+(?:u001b|x1b|e|033)\[[0-9;]*m)"
_B64URL = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX_DIGITS = "0123456789abcdef"
_GITLAB_KINDS = "pat|ptt|dt|rt|soat|cbt|ft|imt|agent|oas"


def _key(name: str, shape: str, *keywords: str, judge: Judge = plausibility.is_real_key) -> Rule:
    return Rule(name, f"{_LEFT}({shape})", keywords, judge)


_PREFIXED_KEYS = (
    _key(
        "aws-access-key-id", r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b", "akia", "asia", "abia", "acca", "a3t"
    ),
    _key("github-token", rf"gh[pousr]_{_ALNUM}{{36,}}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _key("github-fine-grained-token", r"github_pat_\w{36,}", "github_pat_"),
    _key(
        "gitlab-token",
        rf"(?:gl(?:{_GITLAB_KINDS})-|GR1348941){_B64URL}{{20,}}(?:\.[a-z0-9.]{{5,}})?",
        *(f"gl{kind}-" for kind in _GITLAB_KINDS.split("|")),
        "gr1348941",
    ),
    _key("anthropic-key", rf"sk-ant-{_B64URL}{{20,}}", "sk-ant-"),
    _key("openrouter-key", r"sk-or-v\d-[A-Za-z0-9]{32,}", "sk-or-v"),
    _key("openai-key", rf"sk-(?:(?:proj|svcacct|admin|None)-{_B64URL}{{20,}}|{_ALNUM}{{20,}})", "sk-"),
    _key("google-api-key", rf"AIza{_B64URL}{{35}}", "aiza"),
    _key("google-oauth-token", rf"ya29\.{_B64URL}{{20,}}|1//0{_B64URL}{{30,}}", "ya29.", "1//0"),
    _key("google-oauth-secret", rf"GOCSPX-{_B64URL}{{20,}}", "gocspx-"),
    _key("slack-token", r"(?:xox[abeoprs]|xapp|xwfp)(?:\.xox[bp])?-[A-Za-z0-9-]{10,}", "xox", "xapp-", "xwfp-"),
    _key(
        "slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})", "hooks.slack.com"
    ),
    _key(
        "stripe-key",
        rf"(?:sk|rk)_(?:live|test|prod)_{_ALNUM}{{10,}}",
        *(f"{a}_{b}_" for a, b in product(("sk", "rk"), ("live", "test", "prod"))),
    ),
    _key("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    _key("twilio-key", r"(?:SK|AC)[0-9a-f]{32}\b", *map("".join, product(("sk", "ac"), _HEX_DIGITS, _HEX_DIGITS))),
    _key("sendgrid-key", rf"SG\.{_B64URL}{{16,}}\.{_B64URL}{{16,}}", "sg."),
    _key("mailgun-key", r"key-[0-9a-f]{32}\b", "key-"),
    _key("mailchimp-key", r"[0-9a-f]{32}-us\d{1,2}\b", *(f"-us{digit}" for digit in range(1, 10))),
    _key("npm-token", rf"npm_{_ALNUM}{{36,}}", "npm_"),
    _key("pypi-token", rf"pypi-{_B64URL}{{40,}}", "pypi-"),
    _key("rubygems-token", r"rubygems_[0-9a-f]{48}", "rubygems_"),
    _key("docker-token", rf"dckr_(?:pat|oat)_{_B64URL}{{20,}}", "dckr_"),
    _key("huggingface-token", rf"(?:hf|api_org)_{_ALNUM}{{30,}}", "hf_", "api_org_"),
    _key("groq-key", rf"gsk_{_ALNUM}{{40,}}", "gsk_"),
    _key("xai-key", rf"xai-{_ALNUM}{{60,}}", "xai-"),
    _key("perplexity-key", rf"pplx-{_ALNUM}{{40,}}", "pplx-"),
    _key("replicate-token", rf"r8_{_ALNUM}{{36,}}", "r8_"),
    _key(
        "shopify-token",
        r"shp(?:at|ca|pa|ss|tka|ua)_[A-Fa-f0-9]{32}",
        "shpat_",
        "shpca_",
        "shppa_",
        "shpss_",
        "shptka_",
        "shpua_",
    ),
    _key("vault-token", rf"hv[sbr]\.{_B64URL}{{24,}}", "hvs.", "hvb.", "hvr."),
    _key("terraform-token", rf"{_ALNUM}{{14}}\.atlasv1\.{_B64URL}{{40,}}", ".atlasv1."),
    _key(
        "doppler-token",
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_ALNUM}{{40,}}",
        *(f"dp.{kind}." for kind in ("pt", "st", "ct", "sa", "scim", "audit")),
    ),
    _key("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}", "doo_v1_", "dop_v1_", "dor_v1_"),
    _key("databricks-token", r"dapi[a-f0-9]{32}(?:-\d)?\b", "dapi"),
    _key("linear-key", rf"lin_(?:api|oauth)_{_ALNUM}{{32,}}", "lin_api_", "lin_oauth_"),
    _key("notion-token", rf"(?:ntn_|secret_){_ALNUM}{{40,}}", "ntn_", "secret_"),
    _key("figma-token", rf"fig[dou]r?_{_B64URL}{{36,}}", "figd_", "figo_", "figu_", "figor_", "figur_", "figdr_"),
    _key("postman-key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "pmak-"),
    _key("grafana-token", rf"gl(?:sa_{_ALNUM}{{32}}_[A-Fa-f0-9]{{8}}|c_[A-Za-z0-9+/=]{{32,}})", "glsa_", "glc_"),
    _key(
        "newrelic-key",
        r"NR(?:AK|AA|II|JS|BR|RA)-[A-Za-z0-9-]{19,}",
        *(f"nr{kind}-" for kind in ("ak", "aa", "ii", "js", "br", "ra")),
    ),
    _key("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", "sntrys_", "sntryu_"),
    _key("atlassian-token", r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,}", "atatt3", "atctt3", "atbb"),
    _key("tailscale-key", r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}", "tskey-"),
    _key("supabase-token", rf"sbp_[a-f0-9]{{40}}|sb_secret_{_B64URL}{{20,}}", "sbp_", "sb_secret_"),
    _key("planetscale-token", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,}", "pscale_"),
    _key("pulumi-token", r"pul-[a-f0-9]{40}", "pul-"),
    _key("fly-token", r"(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=]{60,})", "fo1_", "fm1", "fm2_"),
    _key("onepassword-token", r"ops_eyJ[A-Za-z0-9+/=_-]{50,}", "ops_eyj"),
    _key("age-secret-key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "age-secret-key-1"),
    _key("square-token", rf"sq0(?:atp|csp|idp)-{_B64URL}{{22,}}", "sq0atp-", "sq0csp-", "sq0idp-"),
    _key("airtable-token", rf"pat{_ALNUM}{{14}}\.[a-f0-9]{{64}}", "airtable"),
    _key("telegram-bot-token", rf"\d{{7,10}}:AA{_B64URL}{{32,34}}\b", ":aa"),
    _key("discord-webhook", rf"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{{15,}}/({_B64URL}{{40,}})", "/webhooks/"),
    # Any long dotted name would do after an underscore, so this one begins only at a word boundary.
    Rule(
        "discord-token",
        rf"\b([MNO]{_B64URL}{{23,27}}\.{_B64URL}{{6}}\.{_B64URL}{{27,}})",
        ("discord", "bot ", "token"),
    ),
    _key("teams-webhook", r"webhook\.office(?:365)?\.com/webhookb2/([A-Za-z0-9@/_-]{60,})", "/webhookb2/"),
)

_KEY_HEADER = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_FOOTER = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
#: What stands between the lines of a key: line ends, also escaped, quotes, diff and quotation marks, line numbers.
_KEY_GAP = r"(?:[\s\"'+,>|→]|\\+[nrt]|\b\d{1,5}[→:|\t])*"
_LETTERS = r"\p{Latin}\p{Cyrillic}\p{Greek}"
#: What an unquoted credential is made of: no quotes, no backslash, and no script that is written without spaces.
_PRINTABLE = rf"[!#-&(-\[\]-_a-~{_LETTERS}]"
_HEADER_VALUE = r"[A-Za-z0-9._~+/=-]{12,}"
#: A quoted literal without white space, with its escapes; the quotes may be escaped once (JSON text) or more often.
_QUOTED = (
    r'(?:"((?:[^"\\\s]|\\[^\s])+)(?:"|\z)'
    r"|'((?:[^'\\\s]|\\[^\s])+)(?:'|\z)"
    r"|`((?:[^`\\\s]|\\[^\s])+)(?:`|\z)"
    r'|\\"((?:[^"\\\s]|\\\\\\"|\\[^"\s])+)(?:\\"|\z)'
    r'|\\{2,}"([^"\\\s]+)(?:\\+"|\z))'
)
_BARE = rf"([\w.+^{_LETTERS}-](?:[\w!#$%()*+./:=?@\[\]^{{}}~{_LETTERS}-]*[\w!#$%*+/=?@^~{_LETTERS}-])?)"
#: The rest of one command, up to a flag: quoted text whole, no other command, no escaped line end.
_ARGUMENTS = r"\b(?:[^\n|;&\"'\\]|&[^&\n]|'[^'\n]*'|\\*\"[^\"\\\n]*\\*\"|\\+\n)*?[ \t]"
#: Where a line of a listing may begin and end, in text, quotes, or JSON text.
_LINE_START = r"(?m:^|[\"'`→]|\\+[nrt])[ \t]*"
_LINE_END = r"[ \t]*(?m:\r?$|[\"'`]|\\+[nrt\"'])"
_LOGIN_TOOLS = ("docker", "podman", "nerdctl", "buildah", "skopeo", "oras", "crane", "helm", "az", "oc")
_COOKIE_NAMES = "sess|sid|auth|token|jwt|csrf|xsrf|login|remember|identity|ticket|secret"

_STRUCTURED = (
    Rule(
        "private-key-block",
        rf"{_KEY_HEADER}[^-]*(?:-{{1,4}}[^-]+)*{_KEY_FOOTER}",
        ("private key",),
        plausibility.is_key_block,
    ),
    Rule(
        "private-key-start",
        rf"{_KEY_HEADER}(?:{_KEY_GAP}[A-Z][A-Za-z]+(?:-[A-Za-z]+)?: [^\r\n\\]+)*"
        rf"(?:{_KEY_GAP}[A-Za-z0-9+/=]{{16,}})+(?:{_KEY_GAP}[A-Za-z0-9+/]{{1,64}}={{0,2}})?",
        ("private key",),
        plausibility.is_key_start,
    ),
    _key("json-web-token", rf"eyJ{_B64URL}{{8,}}\.eyJ{_B64URL}{{8,}}\.{_B64URL}*", "eyj"),
    Rule(
        "azure-account-key",
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
        ("accountkey=", "sharedaccesskey="),
    ),
    Rule("azure-signature", r"(?i)\bsig=([A-Za-z0-9%+/_-]{40,}(?:=|%3D){0,2})", ("sig=",)),
    Rule(
        "aws-secret-key",
        r"(?i:aws|secret)[\w.-]{0,30}key[\w]{0,10}\\*[\"']?\]?[ \t]{0,4}(?:[:=]|=>|:=)?[ \t]{0,4}\\*[\"']?"
        r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)",
        ("aws", "secret"),
    ),
    Rule(
        "authorization-header",
        rf"{_LEFT}(?i:(?:proxy-)?authorization)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?"
        rf"(?i:token|apikey|api-key|key|bot|bearer|ssws|digest|oauth)?[ \t]*({_HEADER_VALUE})",
        ("authorization",),
        plausibility.is_header_token,
    ),
    Rule("bearer-token", rf"{_LEFT}(?i:bearer)[ \t]+({_HEADER_VALUE})", ("bearer",), plausibility.is_header_token),
    Rule(
        "basic-credential",
        rf"{_LEFT}(?i:basic)[ \t]+([A-Za-z0-9+/]{{6,}}={{0,2}})",
        ("basic",),
        plausibility.is_basic_credential,
    ),
    Rule(
        "url-password",
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@\"'`<>\\,]*:([^\s/?#\"'`\\,]+)@[A-Za-z0-9.\[$_{%-]",
        ("://",),
        plausibility.is_url_password,
    ),
    Rule(
        "url-token",
        r"https?://([A-Za-z0-9_.-]{16,})(?::x-oauth-basic|:)?@[A-Za-z0-9]",
        ("://",),
        plausibility.is_header_token,
    ),
    Rule(
        "npmrc-auth",
        r"(?im)(?:^|[:/\s])_auth(?:token)?[ \t]*=[ \t]*\"?([A-Za-z0-9+/=_.-]{12,})",
        ("_auth",),
        plausibility.is_bare_secret,
    ),
    Rule(
        "netrc-password",
        rf"{_LEFT}(?:login|machine)(?:\s|\\n)+[^\s\\]+(?:(?:\s|\\n)+(?:login|account)(?:\s|\\n)+[^\s\\]+)?(?:\s|\\n)+(?P<name>password)"
        rf"[ \t]+({_PRINTABLE}+)",
        ("password",),
        plausibility.is_quoted_secret,
    ),
    Rule(
        "curl-user",
        rf"{_LEFT}(?:curl|wget)(?:{_ARGUMENTS}|\b[^\n|;]*?[ \t])"
        rf"(?:-[sSfkLivgOGIjJnNqRaB#46]{{0,8}}u|--user|--proxy-user)"
        rf"[ \t=]*\\*[\"']?[^\s:\"'\\$]+:({_PRINTABLE}+)",
        ("curl", "wget"),
        plausibility.is_url_password,
    ),
    Rule(
        "sshpass-password",
        rf"{_LEFT}sshpass[ \t]+-p[ \t]*(?:'([^'\s]+)'|\\*\"([^\"\\\s]+)|({_PRINTABLE}+))",
        ("sshpass",),
        plausibility.is_url_password,
    ),
    Rule(
        "login-password",
        rf"{_LEFT}(?:(?:{'|'.join(_LOGIN_TOOLS)})(?:[ \t]+registry|[ \t]+auth)?[ \t]+login"
        rf"|mongo(?:sh|dump|restore|export|import)?){_ARGUMENTS}-p[ \t=]+(?:{_QUOTED}|{_BARE})",
        (*(f"{tool} login" for tool in (*_LOGIN_TOOLS, "registry", "auth")), "mongo"),
        plausibility.is_typed_password,
    ),
    Rule(
        "mysql-password",
        rf"{_LEFT}(?:mysql|mariadb)(?:-?(?:dump|admin|import|show|check|pump|sh))?{_ARGUMENTS}-p(?:{_QUOTED}|{_BARE})",
        ("mysql", "mariadb"),
        plausibility.is_attached_password,
    ),
    Rule(
        "redis-password",
        rf"{_LEFT}(?:redis|valkey|keydb)-cli{_ARGUMENTS}(?:-a|--pass)[ \t]+(?:{_QUOTED}|{_BARE})",
        ("redis-cli", "valkey-cli", "keydb-cli"),
        plausibility.is_typed_password,
    ),
    Rule(
        "chpasswd-password",
        r"[\w.-]+:([^\s:\"'`\\|]+)(?:\\+n)?\\*[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-\w[ \t]+)*)?"
        r"(?:/usr/sbin/)?chpasswd\b"
        rf"|{_LEFT}chpasswd[^\n|;&<]*<<<[ \t]*\\*[\"']?[\w.-]+:([^\s\"'`\\|]+)",
        ("chpasswd",),
        plausibility.is_typed_password,
    ),
    Rule(
        "pgpass-line",
        rf"{_LINE_START}[\w.*-]+:(?:\d{{4,5}}|\*):[\w.*-]+:[\w.@*-]+:([!#-&(-9;-\[\]-_a-~{_LETTERS}]+){_LINE_END}",
        (":5432:", ":5433:", ":5434:", ":6432:", ":*:", "pgpass"),
        plausibility.is_typed_password,
    ),
    Rule(
        "cookie",
        rf"{_LEFT}(?i:(?:set-)?cookie)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?([^\s=;,\"'\\]+=[^\r\n\"'\\]+)",
        ("cookie",),
        plausibility.is_header_token,
        rf"(?i:[\w.-]*(?:{_COOKIE_NAMES})[\w.-]*)=([A-Za-z0-9%._~+/=:|!-]{{12,}})",
    ),
)

_KEY_KINDS = (
    "api|access|secret|private|encryption|signing|account|master|license|auth|shared|storage|service|deploy|client|app|"
    "admin|jwt|ssh|session|hmac|webhook|consumer|subscription|function"
)
_WORD_NAMES = ("password", "passwd", "passphrase", "passwort", "kennwort", "pwd", "secret", "token", "credential")
_PASS_NAMES = ("_pass", ".pass", "-pass", "dbpass", "userpass")
_PASS_ALONE = ("pass:", "pass=", "pass =", "pass :", "pass'", 'pass"', "pass\\", "pass`")
_KEY_NAMES = tuple(kind + gap + "key" for kind, gap in product(_KEY_KINDS.split("|"), ("", "_", "-", ".", " ")))
_NAME_KEYWORDS = (*_WORD_NAMES, *_PASS_NAMES, *_KEY_NAMES)

_SECRET_WORD = (
    r"(?:password|passwd|passphrase|passwort|kennwort|pwd|secret|token|credentials?|(?:[_.-]|db|user)pass|"
    rf"(?:{_KEY_KINDS})[_. -]?key)"
)
_NAME_ENDINGS = "old|new|prod|production|dev|test|staging|live|value|val|plain|plaintext|raw|base64|b64|base"
_NAME_ENDING = rf"(?:[_-]?(?:\d{{1,2}}|{_NAME_ENDINGS}))?"
_NAME = rf"(?P<name>(?i:[\w.-]*{_SECRET_WORD}{_NAME_ENDING}))"
_NAME_OR_RESOURCE = rf"(?P<name>(?::\d{{12}}:)?(?i:[\w.-]*{_SECRET_WORD}{_NAME_ENDING}))"
_NAME_OR_PASS = rf"(?P<name>(?i:[\w.-]*{_SECRET_WORD}{_NAME_ENDING}|\bpass))"
_ENVIRONMENT_WORD = (
    rf"[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|PWD|SECRET|TOKEN|CREDENTIALS?|_PASS|"
    rf"(?:{_KEY_KINDS.upper()})_?KEY)(?:_?(?:\d{{1,2}}|{_NAME_ENDINGS.upper()}))?"
)
_ENVIRONMENT_NAME = rf"(?P<name>{_ENVIRONMENT_WORD})"
_ANNOTATION = r"(?:[ \t]*:[ \t]*[A-Za-z_&][\w.\[\]&|<>? ]{0,40}?)?"
_QUOTED_IS = rf"(?:{_ANNOTATION}[ \t]*=|[ \t]*(?:={{2,3}}|!==?|:=|=>|:-?|\+=))[ \t]*"
_BARE_IS = r"[ \t]*(?::-|:=|=>|=|:)[ \t]*"
_GAP = r"(?:\s|\\+[nrt])*"
_ITEM = (
    r'(?:"((?:[^"\\\r\n]|\\[^\r\n])*)"'
    r"|'((?:[^'\\\r\n]|\\[^\r\n])*)'"
    r'|\\"((?:[^"\\\r\n]|\\\\\\"|\\[^"\r\n])*)\\"'
    r'|\\{2,}"([^"\\\r\n]*)\\+")'
)
_ITEMS = rf"(?:(?:{_ITEM.replace('((?:', '(?:(?:').replace('([^', '(?:[^')}|[\w.]+){_GAP},?{_GAP})+"
_NAME_END = r"\\*[\"'`]?\]?[?!]?"
_ENDS = r"\\*[\"']?"

_ASSIGNMENTS = (
    Rule(
        "quoted-assignment",
        rf"{_NAME_OR_PASS}{_NAME_END}{_QUOTED_IS}(?i:[fbru@$]{{0,2}}){_QUOTED}",
        (*_PASS_ALONE, *_NAME_KEYWORDS),
        plausibility.is_quoted_secret,
    ),
    Rule(
        "bare-assignment",
        rf"{_NAME_OR_RESOURCE}[\]?!]{{0,2}}{_BARE_IS}{_BARE}",
        _NAME_KEYWORDS,
        plausibility.is_bare_secret,
    ),
    Rule(
        "environment-line",
        rf"(?m)(?:^|[\s\"';]|\\+[nrt]){_ENVIRONMENT_NAME}=([!#%&(-\[\]-_a-~{_LETTERS}](?:{_PRINTABLE}*[!#-&(*-+.-:<-\[^_a-|~{_LETTERS}-])?)",
        _NAME_KEYWORDS,
        plausibility.is_bare_secret,
    ),
    Rule(
        "command-line-flag",
        rf"(?:\B--?|{_LEFT}(?:ENV|setx|set[ \t]+-[a-zA-Z]+)[ \t]+){_NAME}[ \t]+(?:{_QUOTED}|{_BARE})",
        _NAME_KEYWORDS,
        plausibility.is_bare_secret,
    ),
    Rule(
        "xml-element",
        rf"<{_NAME}(?:[ \t][^<>]{{0,80}})?>([^<>\s]{{6,}})</",
        _NAME_KEYWORDS,
        plausibility.is_quoted_secret,
    ),
    Rule(
        "name-value-pair",
        rf"(?i:\b(?:name|key){_ENDS}[ \t]*[:=][ \t]*{_ENDS}){_NAME}{_ENDS}(?:[,\s]|\\+[nrt])*"
        rf"(?i:{_ENDS}value{_ENDS}[ \t]*[:=][ \t]*){_QUOTED}",
        _NAME_KEYWORDS,
        plausibility.is_quoted_secret,
        needs=("value",),
    ),
    Rule(
        "value-name-pair",
        rf"(?i:\bvalue{_ENDS}[ \t]*[:=][ \t]*){_QUOTED}(?:[,\s]|\\+[nrt])*"
        rf"(?i:{_ENDS}\b(?:name|key){_ENDS}[ \t]*[:=][ \t]*{_ENDS}){_NAME}(?:\\*[\"'`\s,}}]|\z)",
        _NAME_KEYWORDS,
        plausibility.is_quoted_secret,
        needs=("value",),
    ),
    Rule(
        "spaced-assignment",
        rf"{_LINE_START}(?:export[ \t]+)?(?P<name>{_ENVIRONMENT_WORD}|[Pp]ass(?:word|wd|phrase))"
        rf"[ \t]+{_BARE}{_LINE_END}",
        _NAME_KEYWORDS,
        plausibility.is_spaced_secret,
    ),
    Rule(
        "argument-pair",
        rf"[\"'`]-{{1,2}}{_NAME}\\*[\"'`]{_GAP},{_GAP}{_QUOTED}",
        _NAME_KEYWORDS,
        plausibility.is_argument_secret,
        needs=('"-', "'-", "`-"),
    ),
    Rule(
        "list-assignment",
        rf"(?P<name>(?i:[\w.-]*{_SECRET_WORD}{_NAME_ENDING}s?)){_NAME_END}[ \t]*(?::|=>?|:=)[ \t]*\[{_GAP}({_ITEMS})",
        _NAME_KEYWORDS,
        plausibility.is_listed_secret,
        _ITEM,
        needs=("[",),
    ),
    Rule(
        "nested-value",
        rf"{_NAME}{_NAME_END}[ \t]*(?::|=>?)[ \t]*\{{[^{{}}]*?"
        rf"\bvalue{_ENDS}[ \t]*(?::|=>?)[ \t]*{_QUOTED}",
        _NAME_KEYWORDS,
        plausibility.is_quoted_secret,
        needs=("value",),
    ),
    Rule(
        "terraform-default",
        rf"{_LEFT}variable[ \t]+\\*\"{_NAME}\\*\"[ \t]*\{{[^{{}}]*?(?:\b|\\+[nrt])default[ \t]*=[ \t]*{_QUOTED}",
        ('variable "', "variable \\"),
        plausibility.is_quoted_secret,
    ),
)

RULES: tuple[Rule, ...] = _PREFIXED_KEYS + _STRUCTURED + _ASSIGNMENTS

#: Decides in full whether a name, by itself, announces a secret (the key of a JSON object).
SECRET_NAME = rf"(?i)^[\w.-]*(?:{_SECRET_WORD}s?{_NAME_ENDING}|\bpass|authorization)$"


def describe_rules() -> list[tuple[str, str]]:
    """Name and category of every built-in rule, in order of precedence."""
    return [(rule.name, BUILT_IN) for rule in RULES]
