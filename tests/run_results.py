"""Whether a run is a whole one, and how it reports the result of something that is no test."""

import time

import pytest


def runs_everything(config: pytest.Config) -> bool:
    """Return True for a run that names no part of the tests, with or without `--full`."""
    return bool(config.option.names_no_path) and not chooses_tests(config)


def chooses_tests(config: pytest.Config) -> bool:
    """Return True for a run that chooses among the tests below its paths, or runs none of them."""
    parts = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")
    return any(getattr(config.option, part, None) for part in parts)


def report_result(session: pytest.Session, name: str, *, complaint: str, seconds: float = 0.0) -> None:
    """Report a passed test of this name; a failed one if there is a complaint.

    Call it in the process that reports, between the last test and the end of the session, in a wrapper of
    `pytest_runtestloop`: pytest then still counts the result for its last line and its exit status.
    """
    now = time.time()
    report = pytest.TestReport(
        nodeid=name,
        location=(name, None, name),
        keywords={},
        outcome="failed" if complaint else "passed",
        longrepr=complaint or None,
        when="call",
        duration=seconds,
        start=now - seconds,
        stop=now,
    )
    session.testscollected += 1
    session.config.hook.pytest_runtest_logreport(report=report)
