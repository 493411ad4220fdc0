"""`lcm expand`."""

from __future__ import annotations

import click

from lcm.cli.options import WholeNumber, json_option, project_option
from lcm.cli.output import jsonable, print_json, say, shown_time, write, write_wrapped
from lcm.cli.running import run, session
from lcm.composition.lookup import find_in_one
from lcm.retrieval.describe import resolve_summary
from lcm.retrieval.expand import ChildSnippet, Expansion, SourceMessage, TreeNode, expand


@click.command("expand")
@click.argument("summary", metavar="ID")
@click.option("--depth", type=WholeNumber(), default=1, show_default=True, help="How many levels to go down.")
@click.option("--messages", "with_messages", is_flag=True, help="Also the source messages of leaves, in full.")
@click.option("--nested", is_flag=True, help="Also the tree instead of a flat list only.")
@click.option("--token-cap", type=WholeNumber(), help="Stop after so many tokens. Default: no cap.")
@project_option
@json_option
def command(
    summary: str,
    depth: int,
    with_messages: bool,
    nested: bool,
    token_cap: int | None,
    selector: str | None,
    as_json: bool,
) -> None:
    """Open summary ID: the summaries it was made from and, with --messages, the messages themselves."""

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            project, found = await find_in_one(projects, lambda each: resolve_summary(each, summary))
            expansion = await expand(
                project,
                found.summary_id,
                depth=depth,
                include_messages=with_messages,
                nested=nested,
                token_cap=token_cap,
            )
        if as_json:
            print_json({"project_id": project.project_id, **_json(expansion, nested=nested)})
            return
        if expansion.tree is not None:
            _print_tree(expansion.tree, 0)
        else:
            _print_flat(expansion)
        if expansion.truncated:
            say("The token cap was reached; raise --token-cap to see the rest.")

    run(work)


def _json(expansion: Expansion, *, nested: bool) -> dict[str, object]:
    found: dict[str, object] = jsonable(expansion)
    if not nested:
        found.pop("tree", None)
    return found


def _print_flat(expansion: Expansion) -> None:
    for each in expansion.expansions:
        write(f"{each.summary_id}")
        for child in each.children:
            _print_summary(child, 1)
        for message in each.messages:
            _print_message(message, 1)
        if not each.children and not each.messages:
            say("It is made of messages; see them with --messages.")


def _print_tree(node: TreeNode, level: int) -> None:
    _print_summary(node, level)
    for message in node.messages:
        _print_message(message, level + 1)
    for child in node.children:
        _print_tree(child, level + 1)


def _print_summary(summary: TreeNode | ChildSnippet, level: int) -> None:
    write(f"{'  ' * level}{summary.summary_id}  {summary.kind.value}  {summary.token_count:,} tokens")
    write_wrapped(summary.snippet, indent=2 * level + 4)


def _print_message(message: SourceMessage, level: int) -> None:
    indent = "  " * level
    place = f"{message.conversation_id}:{message.seq}"
    write(f"{indent}[{shown_time(message.occurred_at)}] {message.role.value} {place}")
    write("\n".join(f"{indent}  {line}" for line in message.content.splitlines()))
