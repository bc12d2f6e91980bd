from django.apps import AppConfig


class PublishConfig(AppConfig):
    name = "dnspanel.publish"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.publish.conditions import SUBJECT
        from dnspanel.publish.tasks import wake_publisher
        from dnspanel.zones.signals import published

        published.connect(wake_publisher, dispatch_uid="wake the publisher")
        register(SUBJECT)
