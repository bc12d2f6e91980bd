from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "dnspanel.fleet"

    def ready(self) -> None:
        from dnspanel.fleet.tasks import ring_nodes
        from dnspanel.publish.signals import segment_sealed

        segment_sealed.connect(ring_nodes, dispatch_uid="ring the nodes")
