from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "dnspanel.fleet"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.fleet.conditions.subject import SUBJECT
        from dnspanel.fleet.nodes import readable_values
        from dnspanel.fleet.nodes.node_computed_types import answer_who_asks
        from dnspanel.fleet.reads.queries import acked_everywhere
        from dnspanel.fleet.signals import fronts_changed, released
        from dnspanel.fleet.tasks import wake_fronts, wake_nodes, wake_released_nodes
        from dnspanel.publish.signals import segment_sealed
        from dnspanel.zones.signals import acked_everywhere_requested, answers_requested

        segment_sealed.connect(wake_nodes, dispatch_uid="wake the nodes")
        released.connect(wake_released_nodes, dispatch_uid="wake the released nodes")
        fronts_changed.connect(wake_fronts, dispatch_uid="give fronts their settings")
        answers_requested.connect(answer_who_asks, dispatch_uid="what the nodes answer")
        answers_requested.connect(readable_values.answer_who_asks, dispatch_uid="which values the nodes read")
        acked_everywhere_requested.connect(acked_everywhere, dispatch_uid="what all nodes have acked")
        register(SUBJECT)
