"""Tests of mail through a real server: acceptance, refusals, and the panel's messages about them."""

import socket
from typing import Any

import pytest

from dnspanel.webhooks.errors import NotTold
from dnspanel.webhooks.mail import send_mail
from tests.mailserver import MailServer


def send(to: str = "ops@people.test", text: str = "Grüße\n.\nend\n") -> Any:
    return send_mail(to, "[dnspanel] ns1 is läte", text, message_id="alert_1")


def test_a_mail_arrives_whole_and_the_servers_last_words_are_known(mail_server: MailServer, settings: Any) -> None:
    settings.PANEL_URL = "https://dns.panel.test:8443"
    answer = send()
    assert (answer.status, answer.text) == (250, "2.0.0 queued as 0001")
    [mail] = mail_server.mails
    assert (mail.sender, mail.to) == ("panel@panel.test", ["ops@people.test"])
    assert mail.message["Subject"] == "[dnspanel] ns1 is läte"
    assert mail.message["Message-ID"] == "<alert_1@dns.panel.test>"
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert mail.text.splitlines() == ["Grüße", ".", "end"]


def test_a_refused_recipient_is_told_with_the_servers_words(mail_server: MailServer) -> None:
    with pytest.raises(NotTold, match=r"rejected the recipient: 550 5.1.1 no such mailbox here"):
        send("nobody@people.test")
    assert mail_server.mails == []


def test_a_server_that_takes_nothing_just_now(mail_server: MailServer) -> None:
    mail_server.break_down()
    with pytest.raises(NotTold, match=r"rejected the email: 451 4.3.0 the disk is full"):
        send()
    assert mail_server.mails == []


def test_a_server_that_wants_no_password_is_told_of_as_such(mail_server: MailServer, settings: Any) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "panel", "secret"
    with pytest.raises(NotTold) as refusal:
        send()
    assert "secret" not in str(refusal.value)


def test_a_server_without_tls_gets_no_mail_when_tls_is_asked_for(mail_server: MailServer, settings: Any) -> None:
    settings.EMAIL_USE_TLS = True
    with pytest.raises(NotTold, match="can’t be reached: STARTTLS"):
        send()
    assert mail_server.mails == []


def test_nobody_there_and_no_server_set(settings: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", taken.getsockname()[1]
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        with pytest.raises(NotTold, match=r"can’t be reached: .*Connection refused"):
            send()
    settings.EMAIL_HOST = ""
    with pytest.raises(NotTold, match="PANEL_MAIL_HOST"):
        send()
