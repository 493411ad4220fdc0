"""Measures lcm beside its floor and tells which budgets it keeps; see README.md.

python benchmarks/run.py [--only NAME,...] [--quick] [--runs N] [--json] [--keep FOLDER]
python benchmarks/run.py --profile import|sweep
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks import processes, report
from benchmarks.figures import Line
from benchmarks.register import MEASURES
from benchmarks.sizes import Sizes
from benchmarks.workplace import Workplace

QUICK = 20


@click.command()
@click.option("--only", metavar="NAME,...", help=f"Some groups of lines: {', '.join(MEASURES)}.")
@click.option("--quick", is_flag=True, help=f"A {QUICK}th of the sizes; no verdict where a budget needs the full size.")
@click.option("--divide", type=click.IntRange(min=1), help="Divide the sizes by this instead.", metavar="N")
@click.option("--runs", type=click.IntRange(min=1), help="Measurements of each heavy line. Default: 3, quick 1.")
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Keep transcripts and stores here.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@click.option("--profile", "profiled", type=click.Choice(["import", "sweep"]), help="Tell where the time goes instead.")
def main(
    *,
    only: str | None,
    quick: bool,
    divide: int | None,
    runs: int | None,
    keep: Path | None,
    as_json: bool,
    profiled: str | None,
) -> None:
    """Measure lcm beside the least that the bare sqlite3 module needs for the same rows."""
    divisor = divide or (QUICK if quick else 1)
    sizes = Sizes.divided(divisor, runs=runs or (1 if divisor > 1 else 3))
    names = _chosen(only)
    with _workplace(keep, sizes) as work:
        if profiled is not None:
            click.echo(_in_own_process(work, "profiles", profiled), nl=False)
            return
        lines, failed = _measure_all(work, names)
    if as_json:
        report.print_json(lines)
    else:
        report.print_table(lines)
    if failed:
        raise click.ClickException(f"Not measured: {', '.join(failed)}.")


def _chosen(only: str | None) -> Sequence[str]:
    if only is None:
        return list(MEASURES)
    names = only.split(",")
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]} is none of {', '.join(MEASURES)}.", param_hint="--only")
    return names


@contextmanager
def _workplace(keep: Path | None, sizes: Sizes) -> Iterator[Workplace]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield Workplace(keep.resolve(), sizes)
        return
    with tempfile.TemporaryDirectory(prefix="lcm-benchmarks-") as folder:
        yield Workplace(Path(folder), sizes)


def _measure_all(work: Workplace, names: Sequence[str]) -> tuple[list[Line], list[str]]:
    """Lines of all groups, and the names of those that failed; one that fails keeps no other from being measured."""
    lines: list[Line] = []
    failed: list[str] = []
    for name in names:
        click.echo(f"measuring {name} ...", err=True)
        try:
            lines += [Line.from_json(each) for each in json.loads(_in_own_process(work, "one", name))]
        except processes.ProcessFailed as failure:
            click.echo(f"{name}: {failure}", err=True)
            failed.append(name)
    return lines, failed


def _in_own_process(work: Workplace, module: str, name: str) -> str:
    """So that neither memory nor caches of one line are another's."""
    command = processes.python("-m", f"benchmarks.{module}", name, str(work.folder), work.sizes.to_json())
    return processes.run(command, work.environment).output


if __name__ == "__main__":
    main()
