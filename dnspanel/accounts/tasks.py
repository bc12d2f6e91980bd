"""Celery tasks for accounts, run by `celery worker -Q push`.

Password mail is sent by a task, so that a page's response time does not reveal which accounts exist.
"""

from celery import shared_task
from django.utils import timezone

from dnspanel.accounts.providers.ldap.look import look_at_everybody
from dnspanel.accounts.sign_in.password_mail import mail_password_link


@shared_task(ignore_result=True)
def send_password_link(user_id: int) -> None:
    """Mail the person a link that sets their password. Two calls send two links. Using one link makes both invalid."""
    mail_password_link(user_id=user_id, now=timezone.now())


@shared_task(ignore_result=True)
def look_at_ldap_people() -> None:
    """Update people's groups from their LDAP servers, and close accounts of people who are gone.

    If two tasks run at the same time, only one checks a server.
    """
    look_at_everybody(now=timezone.now())
