from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "dnspanel.web"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from dnspanel.web.account import signed_in
        from dnspanel.web.frame import confirm

        user_logged_in.connect(confirm.note_sign_in, dispatch_uid="web-password-given")
        user_logged_in.connect(signed_in.note_sign_in, dispatch_uid="web-seen")
