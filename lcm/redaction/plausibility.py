"""Judges: does a matched literal look like a secret, or like a placeholder, a reference, or plain words?

A judge gets the name the value was assigned to (empty when the shape alone decides) and the value, and is pure.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import re2

Judge = Callable[[str, str], bool]

#: Tokens of paging and of language models, and the resource names of a cloud (`...:123456789012:secret:name`).
_NO_SECRET_NAME = re2.compile(
    r"(?i)(?:page|next|continuation|cursor|sync|pad|eos|bos|unk|sep|cls|mask|stop|special|cancel(?:l)?ation)[_-]?token|^:\d"
)
_PLACEHOLDER_IN_KEY = re2.compile(r"(?i)x{4}|\*{3}|\.{3}|…|example|placeholder|redacted|change[_-]?me|your[_-]")
_PLACEHOLDER = re2.compile(
    r"(?i)x{4}|\*{3}|\.{3}|…|•|example|placeholder|redacted|dummy|sample|foobar|your[_-]|[_-]here$"
    r"|(?:change|replace|insert|fill)[_-]?(?:me|this|with|in|it|here)|^<.*>?$|^test(?:ing)?[_-]?\d*$"
)
#: Text that is computed or looked up elsewhere: variables, templates, secret-store locators, paths, URLs.
_REFERENCE = re2.compile(
    r"^\$[A-Za-z_]\w*$|^\$(?:env|Env|ENV):|\$\{|\$\(|\{\{|#\{|%\{|%\(|%[sdvrq]\b|\{[A-Za-z_][\w.]*\}|^\{\d*\}|^%\w+%$|^@\{"
    r"|^!(?:Ref|Sub|GetAtt|secret|vault|env)\b|process\.env|os\.environ|getenv"
    r"|^(?:env|file|vault|op|ssm|kms|sops|arn|ref|projects|secretsmanager|keyring|awskms|gcpkms|data)[:/]"
    r"|^[A-Za-z][A-Za-z0-9+.-]*://|^(?:\.{0,2}|~)/|^[A-Za-z]:\\|^[a-z_]+(?:\|[a-z_]+(?::\w+)?)+$"
    r"|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|^0x[0-9A-Fa-f]+$|^\[.*\][+*?]?$"
)
_CALL_OR_INDEX = re2.compile(r"^&?[A-Za-z_$][\w.$:>?!-]*[(\[{<]|[)\]}][)\]}{]")
_WORDS = re2.compile(
    r"^[_$&#.]*[A-Za-z]+\d{0,4}(?:[-_]+[A-Za-z]*\d{0,4})*(?:(?:\.|->|::|\?\.|/|:)[_$]*[A-Za-z]*\d{0,4}(?:[-_]+[A-Za-z]*\d{0,4})*)*$"
)
_CONSTANT_NAME = re2.compile(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_DOTTED_NAME = re2.compile(r"^[A-Za-z_$][\w$]*(?:\(\))?(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*(?:\(\))?)+$")
_WORD = re2.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PROGRAM_WORD = re2.compile(
    r"(?i)^(?:password|passwd|passphrase|pass|pwd|pw|token|secret|keys?|value|val|arg|argv|args|param|input|output|user|"
    r"username|name|data|str|string|text|field|hash|md|sha|base|utf|int|uint|float|bool|bytes|oauth|bcrypt|scrypt|argon|"
    r"pbkdf|node|item|entry|line|column|test|var|tmp|version|type|option|number|char|varchar)$"
)
#: What follows `p` in words that people write with one dash.
_OPTION_RESTS = ("ort", "assw", "rotocol", "rint", "rog", "lugin", "ath")
_MAX_JUDGED = 512
_PASSWORD_SYMBOLS = frozenset("!@#$%^&*~?")
_BRACKETS = frozenset("[]{}")
_CODE_MARKS = frozenset("(){}[]$!?*")


def any_value(_name: str, _value: str) -> bool:
    """The shape of the match is proof enough."""
    return True


def is_real_key(_name: str, value: str) -> bool:
    """A key with a known prefix that is not a documentation placeholder."""
    return not _PLACEHOLDER_IN_KEY.search(value[:_MAX_JUDGED])


def is_url_password(_name: str, value: str) -> bool:
    """The password of a URL, unless it is a placeholder or a template."""
    return not _is_exempt(value) and not value.startswith(("{", "%s", "<", "["))


def is_quoted_secret(name: str, value: str) -> bool:
    """A quoted literal under a secret name: a password has two classes of characters, a key or token looks random."""
    value = value[:_MAX_JUDGED]
    has_shape = _is_password(value) if _names_password(name) else _is_random(value) and _BRACKETS.isdisjoint(value)
    return has_shape and not _is_exempt(value) and not _NO_SECRET_NAME.search(name)


def is_bare_secret(name: str, value: str) -> bool:
    """An unquoted value under a secret name: as a quoted one, and it cannot be code (a name, a call, an index)."""
    value = value[:_MAX_JUDGED]
    if not is_quoted_secret(name, value) or _CALL_OR_INDEX.search(value) or _is_dotted_words(value):
        return False
    return not _speaks_of_program(value) if _names_password(name) else _CODE_MARKS.isdisjoint(value)


def is_typed_password(_name: str, value: str) -> bool:
    """What stands where a command or a file of passwords has its password."""
    return is_bare_secret("password", value)


def is_attached_password(_name: str, value: str) -> bool:
    """A password written directly after `-p`, not the rest of a long option with one dash (`-port=3306`)."""
    return is_typed_password("", value) and not value.startswith(_OPTION_RESTS)


def is_spaced_secret(name: str, value: str) -> bool:
    """A value that only white space parts from its name; digits alone are a limit or a count."""
    return is_bare_secret(name, value) and not value.isdigit()


def is_argument_secret(name: str, value: str) -> bool:
    """The argument after a flag in a list, not the next flag."""
    return is_bare_secret(name, value) and not value.startswith("-")


def is_listed_secret(name: str, value: str) -> bool:
    """One of several values under a secret name; what has white space is prose, and `tokens` alone are words."""
    return name.lower() != "tokens" and is_quoted_secret(name, value) and len(value.split(maxsplit=1)) == 1


def is_header_token(_name: str, value: str) -> bool:
    """The credential of an `Authorization` header: random, not words that follow "bearer" in prose."""
    return is_quoted_secret("", value)


def is_basic_credential(_name: str, value: str) -> bool:
    """Base64 of `user:password`."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


_LONG_BASE64 = re2.compile(r"[A-Za-z0-9+/=]{40}")
_KEY_START = re2.compile(r"[A-Za-z0-9+/=]{16}")
_MAX_KEY_BLOCK = 32 * 1024


def is_key_block(_name: str, block: str) -> bool:
    """A PEM or PGP block with a body, not code or prose that names the two marker lines."""
    return len(block) <= _MAX_KEY_BLOCK and any(_is_mixed(run) for run in _LONG_BASE64.findall(block))


def is_key_start(_name: str, body: str) -> bool:
    """The body of a key block that was cut before its footer."""
    return any(_is_mixed(run) for run in _KEY_START.findall(body[: 2 * _MAX_JUDGED]))


def _is_mixed(text: str) -> bool:
    return any(c.islower() for c in text) and any(c.isupper() for c in text)


def _is_exempt(value: str) -> bool:
    return (
        value.startswith((")", ",", "}"))
        or len(set(value)) == 1
        or bool(_PLACEHOLDER.search(value) or _REFERENCE.search(value) or _CONSTANT_NAME.search(value))
    )


def _names_password(name: str) -> bool:
    return any(word in name.lower() for word in ("pass", "pwd", "kennwort"))


def _is_password(value: str) -> bool:
    """At least six characters with a letter and a digit or symbol, or digits only."""
    core = value.rstrip("!?.*&")
    if len(core) < 6:
        return len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    has_letter = any(c.isalpha() for c in core)
    has_digit = any(c.isdigit() for c in core)
    return core.isdigit() or (has_letter and (has_digit or not _PASSWORD_SYMBOLS.isdisjoint(core)))


def _is_random(value: str) -> bool:
    """At least eight characters that are not words, with letters and digits, or many changes of case."""
    if len(value) < 8:
        return False
    if value.isalpha():
        return len(value) >= 20 and _changes_case_often(value)
    has_both = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return has_both and _entropy(value) >= 2.5 and not _WORDS.search(value)


def _changes_case_often(value: str) -> bool:
    rises = sum(1 for left, right in pairwise(value) if left.islower() and right.isupper())
    return rises * 6 >= len(value)


def _is_dotted_words(value: str) -> bool:
    return bool(_DOTTED_NAME.search(value)) and bool(_WORDS.search(value.replace("()", "")))


def _speaks_of_program(value: str) -> bool:
    """Words, perhaps numbered, of which one belongs to the vocabulary of programs: `password2`, `userInput1`."""
    words: list[Any] = _WORD.findall(value)
    return bool(_WORDS.search(value)) and any(_PROGRAM_WORD.search(word) for word in words)


def _entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0
