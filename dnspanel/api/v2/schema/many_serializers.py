"""The description of changes of many RRsets or zones alike."""

from rest_framework import serializers

from dnspanel.api.v2.schema.fields import (
    LARGEST_ID,
    Choice,
    Flag,
    Integer,
    Moment,
    RecordType,
    Shape,
    Text,
    ZoneName,
)
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.zone_serializers import (
    MOST_REASON,
    MOST_TTL,
    RRsetSerializer,
    TermsSerializer,
    ViolationSerializer,
    ZoneRefusalSerializer,
)
from dnspanel.zones.lists.selection import MOST_SELECTED
from dnspanel.zones.plan.many_rrsets import LONGEST_TEXT, MOST_VALUES
from dnspanel.zones.publishing.many_settings import MOST_ZONES
from dnspanel.zones.search.terms import LONGEST_SEARCH
from dnspanel.zones.values.rrset_notes import MOST_TAGS

SET_TTL, SET_VALUES, ADD_VALUES, REMOVE_VALUES = "set-ttl", "set-values", "add-values", "remove-values"
REPLACE_TEXT, SET_COMMENT, ENABLE, DISABLE, DELETE = "replace-text", "set-comment", "enable", "disable", "delete"
ADD_TAGS, REMOVE_TAGS = "add-tags", "remove-tags"
# What each act needs, and what else it may have.
MEMBERS = {
    SET_TTL: ({"ttl"}, set[str]()),
    SET_VALUES: ({"values"}, set[str]()),
    ADD_VALUES: ({"values"}, set[str]()),
    REMOVE_VALUES: ({"values"}, set[str]()),
    REPLACE_TEXT: ({"find", "replacement"}, {"pattern"}),
    SET_COMMENT: ({"comment"}, set[str]()),
    ADD_TAGS: ({"tags"}, set[str]()),
    REMOVE_TAGS: ({"tags"}, set[str]()),
    ENABLE: (set[str](), set[str]()),
    DISABLE: (set[str](), set[str]()),
    DELETE: (set[str](), set[str]()),
}
SET_TEAM = "set-team"
RESTORE = "restore"
MEMBERS_OF_ZONES = {
    ADD_TAGS: ({"tags"}, set[str]()),
    REMOVE_TAGS: ({"tags"}, set[str]()),
    SET_TEAM: ({"team"}, set[str]()),
    DELETE: (set[str](), set[str]()),
}


class ActSerializer(Shape):
    """What to do with each RRset."""

    op = Choice(choices=list(MEMBERS), help_text="What to do with each RRset.")
    ttl = Integer(required=False, min_value=0, max_value=MOST_TTL, help_text="For set-ttl.")
    values = serializers.ListField(
        child=Text(max_length=LONGEST_TEXT),
        required=False,
        min_length=1,
        max_length=MOST_VALUES,
        help_text="For set-values, add-values and remove-values: presentation texts.",
    )
    find = Text(required=False, max_length=LONGEST_TEXT, help_text="For replace-text: what is in a value.")
    replacement = Text(required=False, allow_blank=True, max_length=LONGEST_TEXT, help_text="For replace-text.")
    pattern = Flag(
        required=False,
        help_text="For replace-text: `find` is compared with whole values, and `*` in it stands for any text, in"
        " `replacement` for the same text.",
    )
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="For set-comment.")
    tags = serializers.ListField(
        child=Text(max_length=100),
        required=False,
        min_length=1,
        max_length=MOST_TAGS,
        help_text="For add-tags and remove-tags.",
    )


class NamedRRsetSerializer(Shape):
    """An RRset by its zone, name and type."""

    zone = ZoneName()
    name = Text(max_length=1100, help_text="Absolute with a final dot, else relative to the zone.")
    type = RecordType()


class ManyRRsetsSerializer(TermsSerializer):
    """RRsets of any zones, and what to do with each."""

    q = Text(
        required=False,
        max_length=LONGEST_SEARCH,
        help_text="As in the search box of the panel: all RRsets that it finds. This, or `rrsets`.",
    )
    rrsets = NamedRRsetSerializer(many=True, required=False, allow_empty=False, max_length=MOST_SELECTED)
    act = ActSerializer()


class ExampleSerializer(Shape):
    """An RRset before and after; null means absent."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    before = RRsetSerializer(allow_null=True)
    after = RRsetSerializer(allow_null=True)


class RefusalSerializer(Shape):
    """An RRset that stays as it is, and why."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    reason = serializers.CharField(help_text="Why it stays as it is.")


class OutcomeSerializer(Shape):
    """What an act does to RRsets."""

    changed = serializers.IntegerField(help_text="RRsets.")
    changed_zones = serializers.IntegerField(help_text="Number of zones with changes.")
    unchanged = serializers.IntegerField(help_text="RRsets that are so already.")
    refused = serializers.IntegerField(help_text="RRsets that stay as they are: no value any more, or not allowed.")
    refusals = RefusalSerializer(many=True, help_text="At most the first 20.")
    left_out_zones = serializers.IntegerField(
        help_text="Number of zones whose last publication has not been searched yet."
    )


class GuardedZoneSerializer(Shape):
    """A zone in which so much changes that it needs `confirm`."""

    zone = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it needs `confirm`.")


class ManyPreviewSerializer(OutcomeSerializer):
    """What would be published. Nothing was changed."""

    examples = ExampleSerializer(many=True, help_text="At most ten.")
    violations = ViolationSerializer(many=True, help_text="At most the first 20; errors first.")
    guard = GuardedZoneSerializer(many=True, help_text="At most the first 20: needs `confirm`.")


class ManyWrittenSerializer(WrittenSerializer):
    """What was published, and what was not."""

    outcome = OutcomeSerializer()


class ZonesActSerializer(Shape):
    """What to do with each zone."""

    op = Choice(choices=list(MEMBERS_OF_ZONES), help_text="What to do with each zone.")
    tags = serializers.ListField(child=Text(), required=False, min_length=1, max_length=50, help_text="For tags.")
    team = Integer(
        required=False, allow_null=True, min_value=1, max_value=LARGEST_ID, help_text="For set-team; null: of none."
    )


class ManyZonesSerializer(Shape):
    """Zones, and what to do with each."""

    q = Text(
        required=False,
        max_length=LONGEST_SEARCH,
        help_text="As in the list of zones of the panel: all that it finds. This, or `zones`.",
    )
    zones = serializers.ListField(child=ZoneName(), required=False, min_length=1, max_length=MOST_ZONES)
    act = ZonesActSerializer()
    reason = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=MOST_REASON,
        help_text="Why; for a deletion.",
    )
    confirm = Flag(required=False, default=False, help_text="Confirm deleting many zones.")


class ZonesOutcomeSerializer(Shape):
    """What an act does to zones."""

    changed = serializers.IntegerField(help_text="Zones.")
    changed_rrsets = serializers.IntegerField(help_text="How many RRsets they have.")
    unchanged = serializers.IntegerField(help_text="Zones that are so already.")
    refused = serializers.IntegerField(help_text="Zones that stay as they are.")
    refusals = ZoneRefusalSerializer(many=True, help_text="At most the first 20; of restored zones 1,000.")


class ManyZonesPreviewSerializer(ZonesOutcomeSerializer):
    """What would be done. Nothing was changed."""

    examples = serializers.ListField(child=serializers.CharField(), help_text="Names of at most ten zones.")
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why `confirm` would be needed.")


class ManyZonesWrittenSerializer(WrittenSerializer):
    """What was done, and what was not. Only a deletion is a publication."""

    outcome = ZonesOutcomeSerializer()


class RestorationsSerializer(Shape):
    """Which deleted zones to restore: those that match every given member. At least one is needed."""

    zones = serializers.ListField(
        child=ZoneName(),
        required=False,
        min_length=1,
        max_length=MOST_ZONES,
        help_text="Names; of several zones of one name the one that was deleted last comes back.",
    )
    ids = serializers.ListField(
        child=Integer(min_value=1, max_value=LARGEST_ID),
        required=False,
        min_length=1,
        max_length=MOST_ZONES,
        help_text="As the list of the trash has them.",
    )
    q = Text(required=False, max_length=LONGEST_SEARCH, help_text="As in the trash of the panel: all that it finds.")
    publication = Integer(
        required=False, min_value=1, max_value=2**63 - 1, help_text="Sequence of the publication that deleted them."
    )
    deleted_since = Moment(required=False, help_text="Deleted then or later.")
    reason = Text(
        required=False, allow_blank=True, default="", max_length=MOST_REASON, help_text="Why; the history shows it."
    )


class RestorationsWrittenSerializer(ManyZonesWrittenSerializer):
    """Which zones were restored, and which were not. `publication` is the last of `publications`."""


class UndoneSerializer(WrittenSerializer):
    """What an undo did."""

    outcome = ZonesOutcomeSerializer(
        required=False, help_text="Only where zones had been deleted: which were restored, and which were not."
    )
