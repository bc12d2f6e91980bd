"""The last lines that an agent logged, inside the agent and as the panel reads them."""

import logging

from replication.agent.recent_log import KEPT_LINES, LINE_LENGTH, RecentLog
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY


def test_the_newest_lines_are_kept_and_long_ones_cut() -> None:
    log = RecentLog()
    logger = logging.getLogger("tests.recent_log")
    logger.addHandler(log)
    try:
        logger.warning("%s", "x" * 10_000)
        assert len(log.lines()[0]) == LINE_LENGTH
        for number in range(KEPT_LINES):
            logger.warning("line %d", number)
        logger.debug("too much detail")
    finally:
        logger.removeHandler(log)
    lines = log.lines()
    assert len(lines) == KEPT_LINES
    assert lines[0].endswith("WARNING line 0")
    assert lines[-1].endswith(f"WARNING line {KEPT_LINES - 1}")


def test_a_line_that_cannot_be_formatted_harms_nobody() -> None:
    log = RecentLog()
    log.handleError = lambda record: None  # type: ignore[method-assign]
    log.handle(logging.LogRecord("x", logging.INFO, "", 0, "%d", ("no number",), None))
    assert log.lines() == []


def test_the_panel_reads_what_the_agent_logged(node: RunningNode) -> None:
    lines = node.client.log()
    assert lines
    assert any(" INFO " in line for line in lines)
    assert API_KEY not in "\n".join(lines)
