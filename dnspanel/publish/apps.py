from django.apps import AppConfig


class PublishConfig(AppConfig):
    name = "dnspanel.publish"

    def ready(self) -> None:
        from dnspanel.publish.tasks import wake_publisher
        from dnspanel.zones.signals import published

        published.connect(wake_publisher, dispatch_uid="wake the publisher")
