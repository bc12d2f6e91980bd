"""OpenAPI schemas for bulk changes to RRsets or zones."""

from rest_framework import serializers

from dnspanel.api.v2.schema.fields import (
    Choice,
    Flag,
    Id,
    Integer,
    Moment,
    OptionalText,
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
# The required and the optional members of each act.
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
    """The change to make to each RRset."""

    op = Choice(choices=list(MEMBERS), help_text="Change to make to each RRset.")
    ttl = Integer(required=False, min_value=0, max_value=MOST_TTL, help_text="For set-ttl: the TTL.")
    values = serializers.ListField(
        child=Text(max_length=LONGEST_TEXT),
        required=False,
        min_length=1,
        max_length=MOST_VALUES,
        help_text="For set-values, add-values and remove-values: values in presentation format.",
    )
    find = Text(required=False, max_length=LONGEST_TEXT, help_text="For replace-text: the text to find.")
    replacement = Text(
        required=False, allow_blank=True, max_length=LONGEST_TEXT, help_text="For replace-text: the new text."
    )
    pattern = Flag(
        required=False,
        help_text="For replace-text: `find` must match whole values, and `*` matches any text, which `*` in "
        "`replacement` repeats.",
    )
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="For set-comment: the comment.")
    tags = serializers.ListField(
        child=Text(max_length=100),
        required=False,
        min_length=1,
        max_length=MOST_TAGS,
        help_text="For add-tags and remove-tags: the tags.",
    )


class NamedRRsetSerializer(Shape):
    """An RRset, identified by zone, name and type."""

    zone = ZoneName()
    name = Text(max_length=1100, help_text="Absolute with a final dot, else relative to the zone.")
    type = RecordType()


class ManyRRsetsSerializer(TermsSerializer):
    """RRsets in any zones, and the change to make to each."""

    q = Text(
        required=False,
        max_length=LONGEST_SEARCH,
        help_text="Search, as in the panel's search box. Either this or `rrsets`.",
    )
    rrsets = NamedRRsetSerializer(many=True, required=False, allow_empty=False, max_length=MOST_SELECTED)
    act = ActSerializer()


class ExampleSerializer(Shape):
    """An RRset before and after the change. A null value means that the RRset doesn't exist."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    before = RRsetSerializer(allow_null=True)
    after = RRsetSerializer(allow_null=True)


class RefusalSerializer(Shape):
    """An RRset that isn't changed, with the reason."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    reason = serializers.CharField(help_text="Reason why the RRset stays unchanged.")


class OutcomeSerializer(Shape):
    """The effect of a bulk change on RRsets."""

    changed = serializers.IntegerField(help_text="Number of changed RRsets.")
    changed_zones = serializers.IntegerField(help_text="Number of zones with changes.")
    unchanged = serializers.IntegerField(help_text="Number of RRsets already in this state.")
    refused = serializers.IntegerField(help_text="RRsets that stay unchanged: no value left, or not allowed.")
    refusals = RefusalSerializer(many=True, help_text="The first 20 refusals.")
    left_out_zones = serializers.IntegerField(
        help_text="Number of zones whose last publication has not been searched yet."
    )


class GuardedZoneSerializer(Shape):
    """A zone whose changes need `confirm`, with the reasons."""

    zone = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Reasons for `confirm`.")


class ManyPreviewSerializer(OutcomeSerializer):
    """A preview of the publication. Nothing was changed."""

    examples = ExampleSerializer(many=True, help_text="At most ten changes.")
    violations = ViolationSerializer(many=True, help_text="The first 20 broken rules, errors first.")
    guard = GuardedZoneSerializer(many=True, help_text="The first 20 zones that need `confirm`.")


class ManyWrittenSerializer(WrittenSerializer):
    """The result of a bulk change to RRsets, with the numbers of changed and unchanged RRsets."""

    outcome = OutcomeSerializer()


class ZonesActSerializer(Shape):
    """The change to make to each zone."""

    op = Choice(choices=list(MEMBERS_OF_ZONES), help_text="Change to make to each zone.")
    tags = serializers.ListField(
        child=Text(), required=False, min_length=1, max_length=50, help_text="For add-tags and remove-tags: the tags."
    )
    team = Id(required=False, allow_null=True, help_text="For set-team: id of the team; null: none.")


class ManyZonesSerializer(Shape):
    """Zones, and the change to make to each."""

    q = Text(
        required=False,
        max_length=LONGEST_SEARCH,
        help_text="Search, as in the panel's list of zones. Either this or `zones`.",
    )
    zones = serializers.ListField(child=ZoneName(), required=False, min_length=1, max_length=MOST_ZONES)
    act = ZonesActSerializer()
    reason = OptionalText(max_length=MOST_REASON, help_text="Reason of a deletion.")
    confirm = Flag(default=False, help_text="Confirms deleting many zones.")


class ZonesOutcomeSerializer(Shape):
    """The effect of a bulk change on zones."""

    changed = serializers.IntegerField(help_text="Number of changed zones.")
    changed_rrsets = serializers.IntegerField(help_text="RRsets in the changed zones.")
    unchanged = serializers.IntegerField(help_text="Number of zones already in this state.")
    refused = serializers.IntegerField(help_text="Number of zones that stay unchanged.")
    refusals = ZoneRefusalSerializer(many=True, help_text="The first 20 refusals, or 1,000 for restored zones.")


class ManyZonesPreviewSerializer(ZonesOutcomeSerializer):
    """A preview of the bulk change. Nothing was changed."""

    examples = serializers.ListField(child=serializers.CharField(), help_text="Names of at most ten zones.")
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Reasons for `confirm`.")


class ManyZonesWrittenSerializer(WrittenSerializer):
    """The result of a bulk change to zones, with the numbers of zones. Only a deletion makes a publication."""

    outcome = ZonesOutcomeSerializer()


class RestorationsSerializer(Shape):
    """The deleted zones to restore, which must match all given fields. At least one field is required."""

    zones = serializers.ListField(
        child=ZoneName(),
        required=False,
        min_length=1,
        max_length=MOST_ZONES,
        help_text="Names of zones. Of zones with the same name, the one deleted last is restored.",
    )
    ids = serializers.ListField(
        child=Id(), required=False, min_length=1, max_length=MOST_ZONES, help_text="Ids in the list of the trash."
    )
    q = Text(required=False, max_length=LONGEST_SEARCH, help_text="Search, as in the panel's trash.")
    publication = Integer(
        required=False, min_value=1, max_value=2**63 - 1, help_text="Publication that deleted the zones."
    )
    deleted_since = Moment(required=False, help_text="Earliest time of the deletion.")
    reason = OptionalText(max_length=MOST_REASON, help_text="Reason, shown in the history.")


class RestorationsWrittenSerializer(ManyZonesWrittenSerializer):
    """The restored zones, and the zones that weren't restored. `publication` is the last of `publications`."""


class UndoneSerializer(WrittenSerializer):
    """The effect of an undo."""

    outcome = ZonesOutcomeSerializer(
        required=False, help_text="Only for deleted zones: the restored and the refused ones."
    )
