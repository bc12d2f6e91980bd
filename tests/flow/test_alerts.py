"""Alerts reach people, even if Redis and all Celery workers have failed."""

from collections.abc import Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.mailserver import MailServer
from tests.stack import new_stack, run_inside, until

pytestmark = pytest.mark.flow


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as running:
        yield running


@pytest.fixture
def told_stack(mail_server: MailServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """Start a stack whose panel sends mail through the test's mail server."""
    monkeypatch.setenv("PANEL_MAIL_HOST", "127.0.0.1")
    monkeypatch.setenv("PANEL_MAIL_PORT", str(mail_server.port))
    monkeypatch.setenv("PANEL_MAIL_TLS", "no")
    with new_stack("told-stack", sample_zones=False, traffic=False) as running:
        run_inside(running, "alerts.make_route")
        yield running


def test_a_mail_says_that_redis_and_a_node_are_gone(told_stack: Stack, mail_server: MailServer) -> None:
    def texts() -> str:
        return "\n".join(mail.text for mail in mail_server.mails)

    told_stack.supervisor.stop(["redis", "push", "publish", "beat", "ns2-agent"])
    until(lambda: "Redis isn’t responding" in texts(), seconds=60, what="a mail about Redis")
    until(lambda: "ns2 is offline" in texts(), seconds=60, what="a mail about the node")
    told_stack.supervisor.start(["redis", "push", "publish", "beat", "ns2-agent"])
    until(
        lambda: "resolved problems" in texts() or texts().count("Resolved") >= 2,
        seconds=150,
        what="a mail about the end",
    )
    assert all(mail.to == ["ops@people.test"] for mail in mail_server.mails)
    assert len(mail_server.mails) <= 6
