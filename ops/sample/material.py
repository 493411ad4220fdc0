"""What the story fills in: test logs, a load test, a picture, and secrets that no file of the repository holds."""

from __future__ import annotations

import random
import string
import struct
import zlib
from collections.abc import Callable, Mapping
from itertools import product

SEED = 2026

_MODULES: Mapping[str, tuple[str, ...]] = {
    "admin": ("page", "login"),
    "berths": ("length", "draught", "power", "season", "plan"),
    "bookings": ("request", "confirm", "moor", "cancel", "overlap", "notes"),
    "dispatch": ("signature", "headers", "deadline"),
    "prices": ("night", "week", "season", "discount", "rounding"),
    "store": ("insert", "update", "revision", "rollback"),
    "tides": ("table", "clearance", "timezone"),
}
_CLAIMS = (
    "accepts_the_usual_case",
    "refuses_what_is_missing",
    "keeps_the_order",
    "survives_a_repeat",
    "is_the_same_in_every_time_zone",
)
_SLOWEST = (
    (1.12, "call", "webhooks.py::test_a_refused_webhook_is_tried_again"),
    (0.71, "setup", "admin.py::test_page"),
)


def make_secrets() -> dict[str, str]:
    """The four secrets of the pasted listing, by name; the same in every run, made from a seed."""
    draw = random.Random(SEED)  # noqa: S311 - nothing here is a real secret

    def letters(count: int) -> str:
        return "".join(draw.choices(string.ascii_letters + string.digits, k=count))

    return {
        "payment key": "_".join(("sk", "live", letters(32))),
        "database password": letters(18),
        "signing secret": "_".join(("whsec", letters(32))),
        "deploy token": "_".join(("ghp", letters(36))),
    }


def make_material() -> dict[str, str]:
    """The text behind every `{{name}}` of the story but the picture."""
    return {
        "twenty runs": _twenty_runs(),
        "failing run": _failing_run(),
        "whole suite": _whole_suite(148, ("webhooks", "health")),
        "whole suite again": _whole_suite(165, ("webhooks", "health", "worker", "outbox", "resend")),
        "dots": "." * 72 + " [ 46%]\n" + "." * 72 + " [ 92%]\n" + "." * 12 + "  " * 29 + "   [100%]",
        "env listing": _env_listing(),
        "history line": f"1871:export STRIPE_API_KEY={make_secrets()['payment key']}",
        "load test": _load_test("p99 9m04s", 1502),
        "load test fair": _load_test("p99 1.9s", 1498),
    }


def _env_listing() -> str:
    secrets = make_secrets()
    return "\n".join(
        (
            "HARBOR_ENV=development",
            f"HARBOR_DATABASE_URL=postgresql://harbor:{secrets['database password']}@localhost:5433/harbor_dev",
            f"STRIPE_API_KEY={secrets['payment key']}",
            f"WEBHOOK_SIGNING_SECRET={secrets['signing secret']}",
            f"DEPLOY_TOKEN={secrets['deploy token']}",
            "HARBOR_POOL_SIZE=20",
        )
    )


def _twenty_runs() -> str:
    failing = (4, 11, 12)
    return "\n".join(
        f"1 {'failed' if run in failing else 'passed'}, 3 deselected in 1.6{run % 7}s" for run in range(20)
    )


def _failing_run() -> str:
    requests = "\n".join(
        f"10:17:{second} receiver  POST /hook delivery=bk_4117-{stamp} berth=C03 {note}"
        for second, stamp, note in (
            ("03.981", 1773051423, "delay=0.9s"),
            ("04.533", 1773051424, "delay=0"),
            ("04.536", 1773051424, "200 OK"),
            ("04.883", 1773051423, "200 OK (client gone)"),
        )
    )
    passed = "\n".join(
        f"tests/test_webhooks.py::test_webhook_is_delivered_once[{run}-12] PASSED" for run in range(1, 8)
    )
    return f"""{_session_head(12)}

{passed}
tests/test_webhooks.py::test_webhook_is_delivered_once[8-12] FAILED

=================================== FAILURES ===================================
_________________ test_webhook_is_delivered_once[8-12] _________________________

>       assert len(receiver.distinct_deliveries()) == 1
E       AssertionError: assert 2 == 1
E        +  where 2 = len({{'bk_4117-1773051423', 'bk_4117-1773051424'}})

tests/test_webhooks.py:48: AssertionError
----------------------------- Captured log call --------------------------------
{requests}
=========================== short test summary info ============================
FAILED tests/test_webhooks.py::test_webhook_is_delivered_once[8-12] - AssertionError: assert 2 == 1
!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!
1 failed, 7 passed in 13.02s"""


def _whole_suite(passed: int, extra: tuple[str, ...]) -> str:
    names = [
        f"{module}.py::test_{part}_{claim}" for module in _MODULES for part, claim in product(_MODULES[module], _CLAIMS)
    ]
    names += [f"{module}.py::test_{claim}" for module, claim in product(extra, _CLAIMS)]
    shown = names[:passed]
    lines = [_result_line(name, at, len(shown)) for at, name in enumerate(shown)]
    slow = "\n".join(f"{seconds:.2f}s {step:<8} tests/test_{name}" for seconds, step, name in _SLOWEST)
    ending = "============================= slowest 5 durations =============================="
    return (
        f"{_session_head(passed + 2)}\n\n"
        + "\n".join(lines)
        + f"\n\n{ending}\n{slow}\n{passed} passed, 2 skipped in 21.40s"
    )


def _result_line(name: str, at: int, count: int) -> str:
    return f"tests/test_{name} PASSED [{100 * (at + 1) // count:3d}%]"


def _session_head(count: int) -> str:
    return (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.12.9, pytest-8.3.5, pluggy-1.5.0\n"
        "rootdir: /home/dana/harbor-api\nconfigfile: pyproject.toml\nplugins: repeat-0.9.3, httpx-0.35.0\n"
        f"collected {count} items"
    )


def _load_test(fast: str, seconds: int) -> str:
    draw = random.Random(seconds)  # noqa: S311 - figures of a story
    steps = "\n".join(
        f"{at * 60:>5} s  waiting {max(0, 2000 - 85 * at - draw.randrange(30)):>4}  in flight 2  given up 0"
        for at in range(1, seconds // 60 + 1)
    )
    return f"""{steps}
endpoint rotterdam   950 delivered   p50 0.2s   {fast}
endpoint busan       950 delivered   p50 0.3s   {fast}
endpoint kobe (slow) 100 delivered   p50 30.0s  p99 30.1s
2000 events in {seconds} s, 0 given up, 0 delivered twice"""


def make_picture() -> bytes:
    """A small PNG: bars of the answering times of three endpoints."""
    width, height = 120, 60
    bars = {range(10, 40): 6, range(45, 75): 10, range(80, 110): 52}
    level: Callable[[int], int] = lambda x: next((bar for columns, bar in bars.items() if x in columns), 0)  # noqa: E731
    rows = b"".join(
        b"\0" + bytes(0x30 if height - y <= level(x) else 0xF0 for x in range(width)) for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
