"""What workers do for accounts: `celery worker -Q push`.

Mail is sent by one, so that no page tells by its time who has an account.
"""

from celery import shared_task
from django.utils import timezone

from dnspanel.accounts.providers.ldap.look import look_at_everybody
from dnspanel.accounts.sign_in.password_mail import mail_password_link
from dnspanel.celery import while_postgresql_answers


@shared_task(ignore_result=True)
def send_password_link(user_id: int) -> None:
    """Send the person a link that sets their password. Two calls send two links; using one ends both."""
    with while_postgresql_answers():
        mail_password_link(user_id=user_id, now=timezone.now())


@shared_task(ignore_result=True)
def look_at_ldap_people() -> None:
    """Update people from their LDAP servers: groups, and accounts that are gone. Two simultaneous runs check once."""
    with while_postgresql_answers():
        look_at_everybody(now=timezone.now())
