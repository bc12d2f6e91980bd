from django.apps import AppConfig


class PublishConfig(AppConfig):
    name = "dnspanel.publish"

    def ready(self) -> None:
        from dnspanel.publish.tasks import ring_publisher
        from dnspanel.zones.signals import published

        published.connect(ring_publisher, dispatch_uid="ring the publisher")
