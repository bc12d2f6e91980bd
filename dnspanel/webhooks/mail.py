"""Send an email to one address and return the mail server's reply."""

import smtplib
import time
from collections.abc import Callable, Mapping
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from dnspanel.texts import gettext, gettext_noop
from dnspanel.webhooks.errors import NotTold
from dnspanel.webhooks.post import Answer

SMTP = "django.core.mail.backends.smtp.EmailBackend"
_TAKEN = 250
# The messages, by the step that failed.
_REFUSALS = {
    "connection": gettext_noop("The mail server {server} rejected the connection: {answer}."),
    "sender": gettext_noop("The mail server {server} rejected the sender: {answer}."),
    "recipient": gettext_noop("The mail server {server} rejected the recipient: {answer}."),
    "mail": gettext_noop("The mail server {server} rejected the email: {answer}."),
}


Mail = Callable[..., Answer]  # `send_mail`, or a substitute


def send_mail(to: str, subject: str, text: str, *, message_id: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Send the email and return the mail server's last reply.

    Raise NotTold if no mail server is configured, or with the step that failed. This function issues the SMTP commands
    itself, because Django's mail backend discards the server's replies.
    """
    if not settings.EMAIL_HOST:
        raise NotTold(gettext("No mail server is configured. The operator can set PANEL_MAIL_HOST."))
    begun = time.monotonic()
    host = urlsplit(settings.PANEL_URL).hostname or "localhost"
    own = {"Message-ID": f"<{message_id}@{host}>", "Auto-Submitted": "auto-generated"}
    mail = EmailMessage(subject, text, settings.DEFAULT_FROM_EMAIL, [to], headers={**own, **(headers or {})})
    connection: Any = get_connection(SMTP)
    step = "connection"
    try:
        connection.open()
        server: smtplib.SMTP = connection.connection
        server.ehlo_or_helo_if_needed()
        step = "sender"
        _say(server.mail(_address(settings.DEFAULT_FROM_EMAIL)))
        step = "recipient"
        _say(server.rcpt(to))
        step = "mail"
        message: Any = mail.message()
        status, text = _say(server.data(message.as_bytes(linesep="\r\n")))
    except (OSError, smtplib.SMTPException) as exc:
        raise NotTold(_describe(step, exc)) from exc
    finally:
        connection.close()
    return Answer(status, text, (time.monotonic() - begun) * 1000)


def _say(reply: tuple[int, bytes]) -> tuple[int, str]:
    """Return the status and text of a successful reply. Raise SMTPResponseException for other replies."""
    status, text = reply[0], reply[1].decode("utf-8", "replace")
    if status not in (_TAKEN, 251):
        raise smtplib.SMTPResponseException(status, text)
    return status, text


def _answer_of(exc: Exception) -> str:
    if isinstance(exc, smtplib.SMTPResponseException):
        text = exc.smtp_error
        return f"{exc.smtp_code} {text.decode('utf-8', 'replace') if isinstance(text, bytes) else text}"
    return ""


def _describe(step: str, exc: Exception) -> str:
    where = gettext("{host}, port {port}").format(host=settings.EMAIL_HOST, port=settings.EMAIL_PORT)
    if isinstance(exc, smtplib.SMTPAuthenticationError):
        return gettext("The mail server {server} rejected the user name or password: {answer}.").format(
            server=where, answer=_answer_of(exc)
        )
    if answer := _answer_of(exc):
        return gettext(_REFUSALS[step]).format(server=where, answer=answer)
    return gettext("The mail server {server} can’t be reached: {reason}.").format(
        server=where, reason=str(exc) or type(exc).__name__
    )


def _address(sender: str) -> str:
    """Return the bare address of `Name <address>`."""
    return parseaddr(sender)[1]
