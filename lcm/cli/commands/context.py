"""`lcm context`: `show`, which is also what an id alone means, and the control of what is shown."""

from __future__ import annotations

import click

from lcm.cli.commands.context_control import exclude, include, log
from lcm.cli.options import WholeNumber, project_option
from lcm.cli.output import print_json, say, write
from lcm.cli.running import run, session

DEFAULT_BUDGET = 200_000


class ContextGroup(click.Group):
    """A group that takes what is no command of its own for the arguments of `show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_own = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_own else ["show", *args])


@click.group("context", cls=ContextGroup)
def command() -> None:
    """Show what a model would see of a conversation, and take single messages out of it.

    `lcm context ID` is short for `lcm context show ID`.
    """


@command.command("show")
@click.argument("conversation", metavar="ID")
@click.option("--budget", type=WholeNumber(), default=DEFAULT_BUDGET, show_default=True, help="Most tokens.")
@click.option("--format", "shape", type=click.Choice(["json", "xml"]), default="xml", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@project_option
def show(conversation: str, budget: int, shape: str, as_json: bool, selector: str | None) -> None:
    """Show what a model would see of conversation ID: summaries, then the newest messages, within a token budget.

    `lcm context ID` is the same. The newest messages are always there, also when they alone are over the budget; then
    `over_budget` is true.
    """
    from zoneinfo import ZoneInfo

    from lcm.assembly.assembler import assemble
    from lcm.assembly.output import to_json, to_xml
    from lcm.composition.lookup import find_in_one
    from lcm.retrieval.identify import resolve_conversation

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation))
            policy = current.settings.compaction
            assembled = await assemble(
                project,
                found.conversation_id,
                budget=budget,
                fresh_tail_count=policy.fresh_tail_count,
                fresh_tail_max_tokens=policy.fresh_tail_max_tokens,
                timezone=ZoneInfo(current.settings.timezone),
            )
        if as_json or shape == "json":
            print_json({"project_id": project.project_id, **to_json(assembled)})
            return
        write(to_xml(assembled))
        if assembled.over_budget:
            say(f"The newest messages alone take {assembled.token_count:,} tokens, over the budget of {budget:,}.")

    run(work)


for _each in (exclude, include, log):
    command.add_command(_each)
