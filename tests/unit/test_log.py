import io
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import capture_logs

from lcm import log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored_log() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    log._plan = log._Plan()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


class TestConfigure:
    def test_a_stream_that_is_no_terminal_gets_json(self) -> None:
        """An event is one JSON object with its facts, level, logger and UTC time."""
        stream = io.StringIO()
        log.configure("info", stream=stream)

        log.get_logger("lcm.test").info("leaf_compacted", conversation_id=7, summary_tokens=1050)

        entry = json.loads(stream.getvalue())
        assert entry.pop("timestamp").endswith("Z")
        assert entry == {
            "event": "leaf_compacted",
            "conversation_id": 7,
            "summary_tokens": 1050,
            "level": "info",
            "logger": "lcm.test",
        }

    def test_a_terminal_gets_a_readable_line(self) -> None:
        """On a terminal an event is text, not JSON."""
        stream = Terminal()
        log.configure("info", stream=stream)

        log.get_logger("lcm.test").warning("lock_waited", wait_s=2)

        assert "lock_waited" in stream.getvalue()
        assert not stream.getvalue().startswith("{")

    def test_events_below_the_level_are_dropped(self) -> None:
        """With the level error, a warning writes nothing."""
        stream = io.StringIO()
        log.configure("error", stream=stream)

        log.get_logger("lcm.test").warning("lock_waited")

        assert stream.getvalue() == ""

    def test_the_last_choice_holds(self) -> None:
        """A later configuration applies to loggers that exist already."""
        logger = log.get_logger("lcm.test")
        first, second = io.StringIO(), io.StringIO()
        log.configure("debug", stream=first)
        logger.debug("one_done")
        log.configure("debug", stream=second)
        logger.debug("two_done")

        assert json.loads(first.getvalue())["event"] == "one_done"
        assert json.loads(second.getvalue())["event"] == "two_done"


class TestLogger:
    def test_events_can_be_captured(self) -> None:
        """The testing helper of structlog sees events and facts."""
        log.configure("debug", stream=io.StringIO())

        with capture_logs() as entries:
            log.get_logger("lcm.test").error("import_failed", line_count=3)

        assert entries == [{"event": "import_failed", "line_count": 3, "logger": "lcm.test", "log_level": "error"}]

    def test_a_broken_stream_does_not_stop_the_work(self) -> None:
        """An event that cannot be written is dropped."""

        class Broken(io.StringIO):
            def write(self, text: str) -> int:
                raise BrokenPipeError

        log.configure("info", stream=Broken())

        log.get_logger("lcm.test").info("leaf_compacted")

    def test_quiet_events_do_not_load_structlog(self) -> None:
        """A command that logs nothing does not pay for the import."""
        done = run_python(
            "import sys\nfrom lcm import log\nlog.configure('warning')\nlog.get_logger('x').info('done')\n"
            "print('structlog' in sys.modules)"
        )

        assert (done.stdout, done.stderr) == ("False\n", "")

    def test_without_configuration_warnings_go_to_standard_error(self) -> None:
        """Standard output is for data, even when nobody configured the log."""
        done = run_python("from lcm import log\nlog.get_logger('x').info('quiet')\nlog.get_logger('x').warning('loud')")

        assert done.stdout == ""
        assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["loud"]
