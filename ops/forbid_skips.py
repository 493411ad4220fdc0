"""A pytest plugin for CI: a skipped test fails, unless it is marked `corpus` and the transcripts are not there."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not _may_skip(item):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself while it is imported."""
    report = yield
    if report.skipped:
        _fail(report)
    return report


def _may_skip(item: pytest.Item) -> bool:
    has_corpus = (item.config.rootpath.parent / "shared" / "data").is_dir()
    return item.get_closest_marker("corpus") is not None and not has_corpus


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"No test may be skipped in CI. {reason}"
