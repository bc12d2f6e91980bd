"""Celery tasks for accounts, run by `celery worker -Q push`.

A task sends password mail, because a page's response time would otherwise reveal which accounts exist.
"""

from celery import shared_task
from django.utils import timezone

from dnspanel.accounts.providers.ldap.look import look_at_everybody
from dnspanel.accounts.sign_in.password_mail import mail_password_link


@shared_task(ignore_result=True)
def send_password_link(user_id: int) -> None:
    """Mail the user a link to set a password. Two calls send two links. Using one link makes both invalid."""
    mail_password_link(user_id=user_id, now=timezone.now())


@shared_task(ignore_result=True)
def look_at_ldap_people() -> None:
    """Update users' groups from their LDAP servers. Close or reopen accounts as `providers.ldap.look` describes.

    If two tasks run at the same time, only one of them checks a server.
    """
    look_at_everybody(now=timezone.now())
