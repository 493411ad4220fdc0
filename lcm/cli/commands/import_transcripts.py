"""`lcm import`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, say, shown_count, write
from lcm.cli.progress import progress
from lcm.cli.running import Session, current_folder, run, session
from lcm.composition.dry_run import rehearsal
from lcm.composition.memory import prepare_for_long_work
from lcm.composition.selection import select_root
from lcm.domain.ingest import IngestCounts
from lcm.engine.importing import FileReport, Importer
from lcm.errors import LcmError
from lcm.transcripts.discover import UnreadablePath, client_folders, client_of, find_transcripts

_SHOWN_SKIPS = 20


@dataclass(slots=True)
class Total:
    """The import as a whole."""

    files: int = 0
    counts: IngestCounts = field(default_factory=IngestCounts)
    conversations: set[tuple[str, int]] = field(default_factory=set)
    projects: set[str] = field(default_factory=set)
    skipped: list[dict[str, object]] = field(default_factory=list)
    unused: dict[str, int] = field(default_factory=dict)
    failed: int = 0

    @property
    def is_partial(self) -> bool:
        return self.failed > 0

    def add(self, report: FileReport) -> None:
        self.files += 1
        self.counts.add(report.counts)
        self.conversations |= {(root, each) for root, ids in report.conversations.items() for each in ids}
        self.projects |= {root for root, ids in report.conversations.items() if ids}
        self.skipped += [
            {"file": str(report.path), "line": skip.line + 1, "reason": skip.reason} for skip in report.skipped
        ]
        for kind, count in report.unused.items():
            self.unused[kind] = self.unused.get(kind, 0) + count

    def fail(self, path: Path, reason: str) -> None:
        """A path that gave nothing makes the run a partial one."""
        self.skipped.append({"file": str(path), "line": None, "reason": reason})
        self.failed += 1


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--client", type=click.Choice(["auto", "claude", "codex"]), default="auto", show_default=True)
@click.option("--dry-run", is_flag=True, help="Tell what would be imported; write nothing at all.")
@project_option
@json_option
def command(paths: tuple[Path, ...], client: str, dry_run: bool, selector: str | None, as_json: bool) -> None:
    """Bring transcripts of coding agents into the store.

    PATHS are transcript files or folders; without one the folders of Claude Code and Codex are read. A file may be
    imported any number of times: only what is new is added. Every conversation goes to the project it worked in, or
    with --project DIR to that one.
    """

    async def work() -> int:
        started = time.monotonic()
        async with session() as plain, rehearsal(plain.projects, plain.settings, is_on=dry_run) as projects:
            current = Session(plain.settings, projects)
            found = _sources(current, paths, client)
            root = select_root(plain.settings, selector, cwd=current_folder()) if selector else None
            total = await _import_all(current, found, client, root)
        _print(total, time.monotonic() - started, as_json=as_json, dry_run=dry_run)
        if not total.is_partial:
            return exit_codes.DONE
        say(f"lcm: {shown_count(total.failed, 'path')} could not be imported.")
        return exit_codes.FAILURE

    run(work)


def _sources(current: Session, paths: Sequence[Path], client: str) -> list[Path | UnreadablePath]:
    imports = current.settings.imports
    return list(find_transcripts(paths or client_folders(imports.claude_dir, imports.codex_dir, client)))


async def _import_all(current: Session, found: Sequence[Path | UnreadablePath], client: str, root: str | None) -> Total:
    total = Total()
    prepare_for_long_work()
    importer = current.projects.importer(root=root)
    for each in progress(found, "importing"):
        if isinstance(each, UnreadablePath):
            total.fail(each.path, each.reason)
            continue
        try:
            total.add(await _import(importer, each, None if client == "auto" else client))
        except OSError:
            total.fail(each, "the file cannot be read")
        except LcmError as error:
            total.fail(each, str(error))
    return total


async def _import(importer: Importer, path: Path, client: str | None) -> FileReport:
    unchanged = await importer.find_unchanged(path, client)
    return unchanged or await importer.import_file(path, client or client_of(path))


def _print(total: Total, seconds: float, *, as_json: bool, dry_run: bool) -> None:
    counts = total.counts
    if as_json:
        print_json(
            {
                "files": total.files,
                "projects": len(total.projects),
                "conversations": len(total.conversations),
                "messages_new": counts.messages_new,
                "messages_known": counts.messages_known,
                "messages_changed": counts.messages_changed,
                "parts_new": counts.parts_new,
                "large_files": counts.large_files,
                "text_repairs": counts.text_repairs,
                "redactions": counts.redactions,
                "skipped": total.skipped,
                "unused": total.unused,
                "dry_run": dry_run,
                "seconds": round(seconds, 3),
            }
        )
        return
    write(_sentence(total, seconds, dry_run=dry_run))
    failed_first = sorted(total.skipped, key=lambda skip: skip["line"] is not None)
    groups = [list(each) for _, each in groupby(failed_first, key=lambda skip: (skip["file"], skip["reason"]))]
    for skips in groups[:_SHOWN_SKIPS]:
        say(_skip_sentence(skips))
    if len(groups) > _SHOWN_SKIPS:
        say("... and more; --json lists all")


def _skip_sentence(skips: list[dict[str, object]]) -> str:
    """One line for lines in a row that were skipped for one reason."""
    first = skips[0]
    place = f":{first['line']}" if first["line"] else ""
    more = f" (and {len(skips) - 1:,} more lines)" if len(skips) > 1 else ""
    return f"skipped {first['file']}{place}: {first['reason']}{more}"


def _sentence(total: Total, seconds: float, *, dry_run: bool) -> str:
    counts = total.counts
    if not total.files and not total.failed:
        return "No transcripts found; name a file or folder with *.jsonl files: `lcm import PATH`."
    if not counts.messages_new and not counts.messages_known:
        return f"Nothing new in {shown_count(total.files, 'file')} ({seconds:.1f} s).{_skipped_sentence(total)}"
    verb = "Would import" if dry_run else "Imported"
    changed = ""
    if counts.messages_changed:
        changed = f", {counts.messages_changed:,} of them have changed since (the first version is kept)"
    where = f"{shown_count(len(total.conversations), 'conversation')} of {shown_count(len(total.projects), 'project')}"
    lines = [
        f"{verb} {shown_count(counts.messages_new, 'new message')} in {where}",
        f"from {shown_count(total.files, 'file')} in {seconds:.1f} s.",
        f"{counts.messages_known:,} were known already{changed}.",
    ]
    if counts.redactions:
        lines.append(f"Secrets replaced before anything was stored: {sum(counts.redactions.values()):,}.")
    if counts.large_files:
        lines.append(f"Large files and pictures kept beside their messages: {counts.large_files:,}.")
    return "\n".join(lines) + _skipped_sentence(total)


def _skipped_sentence(total: Total) -> str:
    return f"\nLines and files skipped: {len(total.skipped):,}." if total.skipped else ""
