"""Send mail with a link to set a password."""

import logging
import smtplib
from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail

from dnspanel.accounts.models import User
from dnspanel.accounts.people.own_language import mail_language
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.texts import gettext, gettext_noop, speaking

logger = logging.getLogger(__name__)

TEXT = gettext_noop(
    "Someone requested a new password for {name} at {panel}.\n\n{link}\n\nThis link works once and "
    "expires after 24 hours. If you didn’t request a new password, ignore this email.\n"
)


def mail_password_link(*, user_id: int, now: datetime) -> None:
    """Mail a password link to a user with an open account, if mail is configured. Log errors from the mail server.

    A user who has no password in the panel gets no mail, because mail must not replace the sign-in with a provider.
    Only a link from an administrator can set a password for such a user.
    """
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or user.email is None or not user.has_usable_password() or not settings.EMAIL_HOST:
        return
    link = f"{settings.PANEL_URL}/password/{make_password_link(user=user, by=None, now=now)}/"
    with speaking(mail_language(user)):
        subject = "[dnspanel] " + gettext("Set a new password")
        text = gettext(TEXT).format(name=user.username, panel=settings.PANEL_URL, link=link)
    try:
        send_mail(subject, text, None, [user.email])
    except (OSError, smtplib.SMTPException) as exc:
        logger.warning("cannot send a password link to=%s: %s", user.username, exc)
