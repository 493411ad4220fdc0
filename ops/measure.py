"""Measures the code: lengths of functions, share of typed ones, sizes of modules, per package.

    python ops/measure.py [folder ...]

A function's length is the lines from `def` to its end without the docstring; nested ones count by themselves too. A
function is typed when every argument but self or cls, and the result, has an annotation.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
DEFAULT_FOLDERS = ("lcm", "tests", "ops")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Measure:
    """Figures of a package; lengths and sizes are lines."""

    function_lengths: list[int] = field(default_factory=list)
    typed_functions: int = 0
    module_sizes: list[int] = field(default_factory=list)

    def add_module(self, source: str) -> None:
        self.module_sizes.append(len(source.splitlines()))
        for function in functions(ast.parse(source)):
            self.function_lengths.append(length(function))
            self.typed_functions += is_typed(function)

    def add(self, other: Measure) -> None:
        self.function_lengths += other.function_lengths
        self.typed_functions += other.typed_functions
        self.module_sizes += other.module_sizes


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    end = function.end_lineno or function.lineno
    lines = end - function.lineno + 1
    first = function.body[0]
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1 if has_docstring else 0)


def is_typed(function: Function) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    stars = [each for each in (function.args.vararg, function.args.kwarg) if each is not None]
    named = [each for each in arguments if each.arg not in ("self", "cls")]
    return function.returns is not None and all(each.annotation is not None for each in [*named, *stars])


def percentile_95(values: Sequence[int]) -> int:
    """The smallest of the values that 95 % of them do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * 95 // 100) - 1]


def packages(folder: Path) -> dict[str, Measure]:
    """Measures by package: the first level below `folder`, whose own modules stand under its name."""
    found: dict[str, Measure] = {}
    for path in sorted(folder.rglob("*.py")):
        inner = path.relative_to(folder).parts
        name = f"{folder.name}/{inner[0]}" if len(inner) > 1 else folder.name
        found.setdefault(name, Measure()).add_module(path.read_text(encoding="utf-8"))
    return found


def row(name: str, measure: Measure) -> str:
    lengths, sizes = measure.function_lengths or [0], measure.module_sizes or [0]
    count = len(measure.function_lengths)
    typed = 100 * measure.typed_functions / count if count else 100
    functions_part = f"{count:>10,}{median(lengths):>8.0f}{percentile_95(lengths):>6}{max(lengths):>6}{typed:>8.1f}"
    modules_part = f"{len(measure.module_sizes):>10}{sum(sizes):>9,}{median(sizes):>8.0f}{max(sizes):>6}"
    return f"{name:<20}{functions_part}{modules_part}"


def report(folder: Path) -> Iterator[str]:
    total = Measure()
    for name, measure in packages(folder).items():
        total.add(measure)
        yield row(name, measure)
    yield row(f"{folder.name} in all", total)


def main() -> None:
    print(f"{'':<20}{'functions':>10}{'median':>8}{'p95':>6}{'max':>6}{'typed %':>8}", end="")
    print(f"{'modules':>10}{'lines':>9}{'median':>8}{'max':>6}")
    for folder in sys.argv[1:] or DEFAULT_FOLDERS:
        print("\n".join(report(ROOT / folder)))


if __name__ == "__main__":
    main()
