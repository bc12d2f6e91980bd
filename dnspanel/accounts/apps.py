from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "dnspanel.accounts"

    def ready(self) -> None:
        from dnspanel import checks as checks
