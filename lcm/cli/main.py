"""The command line: `lcm`. A command's module is loaded when the command runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.output import discard_output, say
from lcm.text import one_line
from lcm.version import __version__

_MAX_ERROR_CHARS = 500

#: Name: module below `lcm.cli.commands` and the line shown in the overview (so that `lcm --help` loads no command).
COMMANDS: Mapping[str, tuple[str, str]] = {
    "import": ("import_transcripts", "Bring transcripts of coding agents into the store."),
    "conversations": ("conversations", "List the stored conversations."),
    "compact": ("compact", "Compact old messages into summaries."),
    "context": ("context", "Show what a model would see of a conversation; leave messages out."),
    "search": ("search", "Find messages and summaries by a question or words."),
    "grep": ("grep", "Find texts that hold given words, or a regular expression."),
    "describe": ("describe", "Show everything about one id."),
    "expand": ("expand", "Open a summary: what it was made from."),
    "stats": ("stats", "Figures of the store."),
    "verify": ("verify", "Prove that nothing is lost, doubled or unreachable."),
    "migrate": ("migrate", "Bring the schema to the newest revision."),
    "verify-schema": ("verify_schema", "Compare the schema with what it should be."),
    "config": ("config", "Read and change settings."),
    "sensitive": ("sensitive", "Your own patterns of secrets to remove."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"lcm.cli.commands.{COMMANDS[cmd_name][0]}")
        command = module.command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *others: Any, **more: Any) -> Any:
        """As click's, but an error of usage is one line, as every other error."""
        if not more.pop("standalone_mode", True):
            return self._run(args, *others, **more)
        try:
            code = self._run(args, *others, **more)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = error.exit_code
        except click.ClickException as error:
            code = _tell(error)
        except click.Abort:  # before the command took over the signals: nothing has been done yet
            say("lcm: Interrupted.")
            code = exit_codes.INTERRUPTED
        except BrokenPipeError:
            discard_output()
            code = exit_codes.DONE
        sys.exit(code)

    def _run(self, *arguments: Any, **more: Any) -> Any:
        main: Callable[..., Any] = super().main
        return main(*arguments, standalone_mode=False, **more)


def _tell(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f" See `{context.command_path} --help`." if isinstance(context, click.Context) else ""
    text = one_line(error.format_message(), _MAX_ERROR_CHARS)
    say(f"lcm: {text if text.endswith(('.', '?')) else text + '.'}{hint}")
    return error.exit_code


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="lcm")
def main() -> None:
    """Keep every message of your coding sessions, compact old ones into summaries that open again, find every detail.

    Start with `lcm import`, then `lcm conversations`.
    """
