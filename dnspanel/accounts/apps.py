from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "dnspanel.accounts"

    def ready(self) -> None:
        # Every Django process of ours has the Celery app, or its tasks would bind to one without a broker.
        from dnspanel import celery as celery
        from dnspanel import checks as checks
        from dnspanel.accounts import sign_ins

        sign_ins.connect()
