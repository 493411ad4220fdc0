"""Measures search on LoCoMo: are the turns that answer a question among the first hits? See README.md.

python benchmarks/recall/locomo.py PATH [--half tune|held-out|all] [--json]
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.recall.bm25 import Bm25
from benchmarks.recall.dialogues import Dialogue, read_dialogues, write_transcripts
from benchmarks.recall.measures import Figures, Outcome, by_group
from benchmarks.stores import CLIENT, Store, open_store
from lcm.retrieval.search import search
from lcm.storage.contracts.project import ProjectStorage

_TUNED = 5
_HALVES = {"tune": slice(0, _TUNED), "held-out": slice(_TUNED, None), "all": slice(None)}
_LIMIT = 10

#: A turn's place in the store: (conversation id, seq).
Place = tuple[int, int]


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--half", type=click.Choice(list(_HALVES)), default="all", help="The first five dialogues, or the others."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
def main(path: Path, *, half: str, as_json: bool) -> None:
    """Recall of lcm's search on the LoCoMo data, beside that of plain BM25."""
    dialogues = read_dialogues(path)[_HALVES[half]]
    with tempfile.TemporaryDirectory(prefix="lcm-recall-") as folder:
        ours, baseline = asyncio.run(measure(dialogues, Path(folder)))
    if as_json:
        click.echo(json.dumps({"half": half, "lcm": _jsonable(ours), "bm25": _jsonable(baseline)}))
    else:
        _print_table(by_group(ours), by_group(baseline))


async def measure(dialogues: Sequence[Dialogue], folder: Path) -> tuple[list[Outcome], list[Outcome]]:
    """Outcomes of lcm and of the baseline, over a store in the folder."""
    ours: list[Outcome] = []
    baseline: list[Outcome] = []
    async with open_store(folder / "home") as store:
        for dialogue in dialogues:
            project = await import_dialogue(store, dialogue, folder / dialogue.name)
            names = await _names(project, dialogue)
            ours += await _ask(project, dialogue, names)
            baseline += _ask_baseline(dialogue)
    return ours, baseline


async def import_dialogue(store: Store, dialogue: Dialogue, folder: Path) -> ProjectStorage:
    """As `lcm import` does it, into a project of the dialogue's own."""
    importer = store.projects.importer(root=dialogue.root)
    for path in write_transcripts(dialogue, folder):
        await importer.import_file(path, CLIENT)
    return await store.projects.open(dialogue.root)


async def _names(project: ProjectStorage, dialogue: Dialogue) -> dict[Place, tuple[int, int]]:
    """The turn at each place."""
    sessions = {dialogue.session_id(number): number for number in dialogue.sessions}
    names = {}
    for conversation in await project.conversations.list_conversations():
        for message in await project.conversations.list_messages(conversation.conversation_id):
            turn = (sessions[conversation.session_id], message.seq + 1)
            names[conversation.conversation_id, message.seq] = turn
    return names


async def _ask(project: ProjectStorage, dialogue: Dialogue, names: dict[Place, tuple[int, int]]) -> list[Outcome]:
    outcomes = []
    for question in dialogue.questions:
        answer = await search(project, question.text, limit=_LIMIT)
        ranked = [names[hit.conversation_id, hit.seq] for hit in answer.hits if hit.seq is not None]
        outcomes.append(Outcome.of(question.category, ranked, question.evidence))
    return outcomes


def _ask_baseline(dialogue: Dialogue) -> list[Outcome]:
    turns = [turn for turns in dialogue.sessions.values() for turn in turns]
    index = Bm25({key: turn.text for key, turn in enumerate(turns)})
    return [
        Outcome.of(
            question.category, [turns[key].name for key in index.search(question.text, _LIMIT)], question.evidence
        )
        for question in dialogue.questions
    ]


def _jsonable(outcomes: Sequence[Outcome]) -> dict[str, object]:
    return {group: figures.to_json() for group, figures in by_group(outcomes).items()}


def _print_table(ours: dict[str, Figures], baseline: dict[str, Figures]) -> None:
    click.echo(f"{'category':<14}{'n':>6}{'R@5':>9}{'R@10':>8}{'MRR':>8}   BM25:{'R@5':>7}{'R@10':>8}{'MRR':>8}")
    for group, own in ours.items():
        other = baseline[group]
        click.echo(
            f"{group:<14}{own.n:>6}{own.recall_at_5:>9.3f}{own.recall_at_10:>8.3f}{own.mrr:>8.3f}"
            f"        {other.recall_at_5:>7.3f}{other.recall_at_10:>8.3f}{other.mrr:>8.3f}"
        )


if __name__ == "__main__":
    main()
