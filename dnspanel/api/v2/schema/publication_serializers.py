"""OpenAPI schemas for publications, their revisions and the results of writes."""

from rest_framework import serializers

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import Shape, page_of
from dnspanel.api.v2.schema.zone_serializers import (
    ChangeSerializer,
    MovedSerializer,
    RRsetSerializer,
    ViolationSerializer,
    ZoneSerializer,
)
from dnspanel.zones.models import Channel, RevisionKind


class ReachSerializer(Shape):
    """The state of one publication on one node."""

    node = serializers.CharField(help_text="Name of the node.")
    state = serializers.ChoiceField(
        choices=["pending", "answers"], help_text="`answers` once the node answers with it."
    )
    reached_at = serializers.DateTimeField(allow_null=True, help_text="Time of the first answer.")
    ms = serializers.FloatField(allow_null=True, help_text="Milliseconds to the confirmation.")
    detail = serializers.CharField(allow_blank=True, help_text="Reason why it is pending, if known.")


class PublishedZoneSerializer(Shape):
    """A zone of a publication."""

    zone = serializers.CharField()
    revision = serializers.IntegerField()
    serial = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=RevisionKind.values, help_text="Kind of change to the zone.")


class TakenBackSerializer(Shape):
    """The reversal of a publication that the canary couldn't serve. No other node received the publication."""

    at = serializers.DateTimeField(allow_null=True, help_text="Time of the reversal.")
    sequence = serializers.IntegerField(allow_null=True, help_text="Sequence of the reversal.")
    reason = serializers.CharField(allow_blank=True, help_text="Reason; empty if hidden from this token.")


class ListedPublicationSerializer(Shape):
    """A publication: changes that were published together."""

    sequence = serializers.IntegerField()
    epoch = serializers.UUIDField(help_text="Epoch of the log. Changes if a backup is restored.")
    at = serializers.DateTimeField(help_text="Time of the publication.")
    actor = ActorSerializer(allow_null=True, help_text="null: hidden from this token.")
    channel = serializers.ChoiceField(choices=Channel.values)
    reason = serializers.CharField(allow_blank=True, help_text="Reason given by the author.")
    url = serializers.CharField()
    part_of = serializers.IntegerField(
        allow_null=True, help_text="First publication of a write in several; null: the write was one publication."
    )
    taken_back = TakenBackSerializer(allow_null=True, help_text="null: not reverted.")


class FeedItemSerializer(ListedPublicationSerializer):
    """A publication in a feed of changes. `zones` and `more_zones` are present only with `expand=zones`."""

    zones = PublishedZoneSerializer(many=True, required=False, help_text="The first 100 zones.")
    more_zones = serializers.BooleanField(
        required=False, help_text="True if more follow: `/publications/{sequence}/zones` lists all."
    )


class PublicationPageSerializer(page_of(FeedItemSerializer)):  # type: ignore[misc]
    """A page of publications, and the sequence number up to which the page is complete."""

    up_to = serializers.IntegerField(
        help_text="In a feed: the `after` of the next request. No earlier publication is missing."
    )
    epoch = serializers.UUIDField(allow_null=True, help_text="Epoch of the log. Changes if a backup is restored.")


class PublicationSerializer(ListedPublicationSerializer):
    """A publication and its state on the nodes."""

    zones = PublishedZoneSerializer(many=True, help_text="The first 100 zones.")
    everywhere = serializers.BooleanField(help_text="True if all active nodes have confirmed it.")
    reached = serializers.IntegerField(help_text="Number of active nodes and fronts that have confirmed it.")
    of = serializers.IntegerField(help_text="Number of active nodes and fronts, without the canary.")
    nodes = ReachSerializer(many=True, allow_null=True, help_text="null without the permission `fleet`.")
    at_secondaries = serializers.BooleanField(
        allow_null=True, help_text="True if all secondaries with its zones answer with it; null without `wait_for=all`."
    )
    secondaries_lacking = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Secondaries that lack it, in words; null without `wait_for=all` or without the permission `fleet`.",
    )


class ShadowedSerializer(Shape):
    """An RRset that no node serves, because another zone contains its name."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    answering_zone = serializers.CharField(help_text="Zone inside `zone` that answers for this name.")


class WatchedPublicationSerializer(PublicationSerializer):
    """A publication, its state on the nodes, and the RRsets that nodes serve from another zone instead."""

    shadowed = ShadowedSerializer(many=True, help_text="The first 100 RRsets, as of now.")


class WrittenSerializer(Shape):
    """The result of a write."""

    publication = PublicationSerializer(
        allow_null=True, help_text="Last publication of the write; null: nothing changed."
    )
    publications = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Sequences of all publications of this write; more than 2,000 RRsets take several. Undoing one "
        "of them undoes all.",
    )
    zones = MovedSerializer(many=True)
    warnings = ViolationSerializer(many=True)


# After a lost response, a retry gets a response from the publication log, which does not have these members.
LOST = "Absent in a retry if the answer to the first request with the same `Idempotency-Key` was lost."


class RRsetWrittenSerializer(WrittenSerializer):
    """The result of a write to one RRset."""

    rrset = RRsetSerializer(allow_null=True, required=False, help_text=f"Current RRset; null: deleted. {LOST}")


class ZoneWrittenSerializer(WrittenSerializer):
    """The result of creating or restoring a zone."""

    zone = ZoneSerializer(required=False, help_text=f"Current zone. {LOST}")


class RevisionSerializer(Shape):
    """A published change to a zone, with its number."""

    zone = serializers.CharField()
    revision = serializers.IntegerField()
    sequence = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="Time of the publication.")
    actor = ActorSerializer(allow_null=True, help_text="null: hidden from this token.")
    channel = serializers.ChoiceField(choices=Channel.values)
    kind = serializers.ChoiceField(choices=RevisionKind.values, help_text="Kind of change to the zone.")
    serial = serializers.IntegerField()
    added = serializers.IntegerField(help_text="Number of RRsets that were added.")
    changed = serializers.IntegerField(help_text="Number of RRsets that changed.")
    removed = serializers.IntegerField(help_text="Number of RRsets that were removed.")
    reason = serializers.CharField(allow_blank=True, help_text="Reason given by the author.")


class RevisionDiffSerializer(RevisionSerializer):
    """A revision and its changes: at most the first 1,000 RRsets, or none for a creation, deletion or restoration."""

    changes = ChangeSerializer(many=True)
    left_out = serializers.IntegerField(help_text="Number of further changes.")
