from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "dnspanel.accounts"

    def ready(self) -> None:
        # Every Django process loads the Celery app. Otherwise its tasks would bind to an app without a broker.
        from dnspanel import celery as celery
        from dnspanel.accounts import checks as checks
        from dnspanel.accounts.sign_in import sign_ins

        sign_ins.connect()
        post_migrate.connect(adopt_master_key, sender=self)


def adopt_master_key(**_: Any) -> None:
    """Store the fingerprint of the configured master key in a new database. An existing fingerprint isn't changed."""
    from dnspanel.accounts.secrets import database_key

    database_key.problem_with_key()
