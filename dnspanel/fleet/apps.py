from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "dnspanel.fleet"

    def ready(self) -> None:
        from dnspanel.fleet.signals import released
        from dnspanel.fleet.tasks import ring_nodes, ring_released
        from dnspanel.publish.signals import segment_sealed

        segment_sealed.connect(ring_nodes, dispatch_uid="ring the nodes")
        released.connect(ring_released, dispatch_uid="ring the released nodes")
