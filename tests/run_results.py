"""Functions that recognize full test runs, and report the result of a check as if it were a test."""

import time

import pytest


def runs_everything(config: pytest.Config) -> bool:
    """Return True if the run includes all tests, with or without `--full`."""
    return bool(config.option.names_no_path) and not chooses_tests(config)


def chooses_tests(config: pytest.Config) -> bool:
    """Return True if the run selects only some tests within its paths, or none."""
    parts = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")
    return any(getattr(config.option, part, None) for part in parts)


def report_result(session: pytest.Session, name: str, *, complaint: str, seconds: float = 0.0) -> None:
    """Report a passed test with this name, or a failed test if there is a complaint.

    Call this in the reporting process, between the last test and the end of the session, in a wrapper of
    `pytest_runtestloop`. Only then does pytest include the result in its last line and exit status.
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
