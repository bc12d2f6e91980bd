"""OpenAPI schemas for zones, RRsets and their changes.

The serializers also parse requests, except those that can have a thousand RRsets: `parsing` reads them faster.
`representation` and `accepted` create the responses. A test validates real responses against the document.
"""

from typing import Any

from rest_framework import serializers

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import Choice, Flag, Id, Integer, Members, OptionalText, Shape, Text
from dnspanel.transfer import zone_text
from dnspanel.zones.drafts.named_drafts import LONGEST_NAME
from dnspanel.zones.models import RevisionKind
from dnspanel.zones.values.rrset_notes import LONGEST_COMMENT, MOST_COMMENTS, MOST_TAGS

MOST_REASON = 2000
MOST_TTL = 2**31 - 1
MOST_CHANGES = 10_000
MOST_RDATA = 5_000
LARGEST_SEQUENCE = 2**63 - 1


def texts_of(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=Text(), **kwargs)


def _tags() -> serializers.ListField:
    return texts_of(required=False, max_length=MOST_TAGS, help_text="1 to 40 of a–z, 0–9, dot, dash, underscore.")


def _value_comments() -> serializers.DictField:
    return Members(
        most=MOST_COMMENTS,
        child=Text(allow_blank=True, max_length=LONGEST_COMMENT),
        required=False,
        help_text="Comments on single values, by `rdata`.",
    )


class RRsetSerializer(Shape):
    """An RRset: all records of one name and type."""

    name = serializers.CharField(help_text="Absolute owner name.")
    type = serializers.CharField(help_text="Mnemonic, or TYPE and a number.")
    ttl = serializers.IntegerField(min_value=0, max_value=MOST_TTL)
    rdata = serializers.ListField(child=serializers.CharField(), help_text="Values in canonical form.")
    disabled = serializers.ListField(child=serializers.CharField(), help_text="Values in `rdata` that are not served.")
    comment = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField(), required=False, help_text="Omitted if there are none.")
    value_comments = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Comments by rdata; omitted if there are none."
    )


class RRsetContentSerializer(Shape):
    """The content of an RRset."""

    ttl = Integer(min_value=0, max_value=MOST_TTL)
    rdata = texts_of(
        min_length=1, max_length=MOST_RDATA, help_text="Values. Names are absolute and need a dot at the end."
    )
    disabled = texts_of(
        required=False, max_length=MOST_RDATA, help_text="Values in `rdata` that are kept but not served."
    )
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()


class RRsetPatchSerializer(Shape):
    """Changes to an existing RRset. Omitted fields don't change. `add` and `remove` keep the other records."""

    ttl = Integer(required=False, min_value=0, max_value=MOST_TTL)
    rdata = texts_of(required=False, min_length=1, max_length=MOST_RDATA)
    disabled = texts_of(required=False, max_length=MOST_RDATA, help_text="Values that are kept but not served.")
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()
    add = texts_of(required=False, max_length=MOST_RDATA, help_text="Records to add.")
    remove = texts_of(required=False, max_length=MOST_RDATA, help_text="Records to remove.")


class NewRRsetSerializer(RRsetContentSerializer):
    """An RRset of a new zone."""

    name = Text(help_text="Absolute with a final dot, else relative to the zone; `@` is the zone itself.")
    type = Text()


class ChangeOrderSerializer(Shape):
    """A change to one RRset."""

    op = Choice(
        choices=["replace", "delete", "extend", "prune"],
        help_text="`replace` and `delete` act on the whole RRset, `extend` and `prune` on single values.",
    )
    name = Text(help_text="Absolute with a final dot, else relative to the zone; `@` is the zone itself.")
    type = Text()
    ttl = Integer(
        required=False,
        min_value=0,
        max_value=MOST_TTL,
        help_text="TTL, needed for `replace`, and for `extend` of a new RRset.",
    )
    rdata = texts_of(required=False, max_length=MOST_RDATA, help_text="Needed except for `delete`.")
    disabled = texts_of(required=False, max_length=MOST_RDATA, help_text="Values that are kept but not served.")
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()


class TermsSerializer(Shape):
    """The options for publishing."""

    reason = OptionalText(max_length=MOST_REASON, help_text="Reason, shown in the history.")
    confirm = Flag(default=False, help_text="Confirms a change that deletes many records.")
    accept_warnings = Flag(default=True, help_text="false: warnings prevent the change.")


class ChangeTermsSerializer(TermsSerializer):
    """The options for publishing record changes."""

    ptr = Flag(
        default=False,
        help_text="Also publish the PTR records of changed addresses, if their reverse zone is here and you can edit "
        "it. PTR records are added, replaced and removed.",
    )


class ZoneToDeleteSerializer(Shape):
    """A zone to delete, optionally only if it is still at a given revision."""

    zone = Text(max_length=1100)
    at_revision = Integer(required=False, min_value=1, help_text="Delete only at this revision.")


class DeletionsSerializer(Shape):
    """Zones to delete. Either all zones are deleted or none."""

    zones = ZoneToDeleteSerializer(many=True, allow_empty=False, max_length=1000)
    reason = OptionalText(max_length=MOST_REASON, help_text="Reason, shown in the history.")
    confirm = Flag(default=False, help_text="Confirms deleting many zones.")


class ChangesSerializer(ChangeTermsSerializer):
    """Changes to RRsets of one zone. Either all changes are published or none."""

    changes = ChangeOrderSerializer(many=True)


class ZoneChangesSerializer(Shape):
    """The changes to one of several zones: either `changes` or `zone_file`."""

    zone = Text()
    at_revision = Integer(required=False, min_value=0, help_text="Refuse all at another revision.")
    changes = ChangeOrderSerializer(many=True, required=False)
    zone_file = Text(
        required=False,
        max_length=zone_text.LONGEST_TEXT,
        help_text="Text of the complete zone (RFC 1035), which replaces all records. DNSSEC records of the panel stay, "
        "and so does the SOA if the text has none. The serial in the text does not count as a difference.",
    )


class BulkSerializer(ChangeTermsSerializer):
    """Changes to RRsets in several zones. Either all changes are accepted or none."""

    zones = ZoneChangesSerializer(many=True)
    into = Choice(
        choices=["publication", "request"],
        default="publication",
        help_text="`publication` publishes at once; `request` creates a request for approval with these changes.",
    )
    name = OptionalText(max_length=LONGEST_NAME, help_text="Name of the request, needed for `request`.")


class NewZoneSerializer(Shape):
    """A zone to create.

    If `rrsets` lacks the SOA or name servers, the panel generates them. The name servers come from `name_server_set` or
    `nameservers`, else from the default set of the team or the panel, else from the settings. A zone with the name
    servers of a set follows the set.
    """

    name = Text()
    rrsets = NewRRsetSerializer(many=True, required=False)
    nameservers = texts_of(required=False, min_length=1, max_length=50, help_text="Names of the name servers.")
    name_server_set = Id(required=False, help_text="Id of a set, instead of `nameservers`.")
    hostmaster = Text(required=False, help_text="Mailbox of the SOA, as a name or an email address.")
    team = Id(required=False, allow_null=True, help_text="Id of a team.")
    reason = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="Reason, shown in the history.")


class ClonesSerializer(Shape):
    """Zones to create with the records of an existing zone."""

    names = texts_of(min_length=1, max_length=1000, help_text="Names of the new zones.")
    team = Id(required=False, allow_null=True, help_text="Id of a team.")
    tags = Flag(default=False, help_text="Copy the tags too. Needs the `settings` right.")
    reason = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="Reason, shown in the history.")


class ZonePatchSerializer(Shape):
    """Settings of a zone. Omitted fields don't change."""

    tags = texts_of(required=False, max_length=50)
    team = Id(required=False, allow_null=True, help_text="Id of a team; null: no team.")
    default_ttl = Integer(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MOST_TTL,
        help_text="TTL of new RRsets in the editor; null: that of the SOA.",
    )


class ZoneSerializer(Shape):
    """A zone, without its RRsets."""

    name = serializers.CharField()
    revision = serializers.IntegerField(help_text="Number of the newest revision.")
    serial = serializers.IntegerField()
    rrset_count = serializers.IntegerField(help_text="Number of RRsets.")
    tags = serializers.ListField(child=serializers.CharField())
    team = serializers.IntegerField(allow_null=True)
    default_ttl = serializers.IntegerField(allow_null=True, help_text="TTL of new RRsets; null: the SOA's TTL.")
    changed_at = serializers.DateTimeField()
    changed_by = ActorSerializer(allow_null=True, help_text="null: hidden from this token.")
    sequence = serializers.IntegerField(help_text="Sequence of the last publication.")
    url = serializers.CharField()
    etag = serializers.CharField(help_text="ETag for If-Match.")


class TrashedZoneSerializer(Shape):
    """A deleted zone that can be restored."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    serial = serializers.IntegerField()
    rrset_count = serializers.IntegerField(help_text="Number of RRsets.")
    deleted_at = serializers.DateTimeField(help_text="Time of the deletion.")
    gone_at = serializers.DateTimeField(help_text="Time of the permanent deletion.")
    url = serializers.CharField(help_text="A POST to `/restore` below it restores the zone.")


class ListedRRsetSerializer(RRsetSerializer):
    """An RRset in a list, with its ETag."""

    etag = serializers.CharField(help_text="ETag for If-Match.")


class ViolationSerializer(Shape):
    """A rule that a change breaks."""

    severity = serializers.ChoiceField(
        choices=["error", "warning", "note"], help_text="Only an `error` prevents a change."
    )
    code = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    message = serializers.CharField(help_text="Problem, in words.")


class ConflictSerializer(Shape):
    """An RRset that someone else has changed in the meantime. A null value means that the RRset doesn't exist."""

    zone = serializers.CharField()
    operation = serializers.IntegerField(allow_null=True, help_text="Id of the change in the draft.")
    name = serializers.CharField()
    type = serializers.CharField()
    base = RRsetSerializer(allow_null=True)
    theirs = RRsetSerializer(allow_null=True)
    mine = RRsetSerializer(allow_null=True)


class ChangeSerializer(Shape):
    """An RRset before and after a change. A null value means that the RRset doesn't exist."""

    name = serializers.CharField()
    type = serializers.CharField()
    before = RRsetSerializer(allow_null=True)
    after = RRsetSerializer(allow_null=True)


class MovedSerializer(Shape):
    """The effect of a write on one zone."""

    zone = serializers.CharField()
    revision = serializers.IntegerField()
    serial = serializers.IntegerField()
    added = serializers.IntegerField(help_text="Number of RRsets that were added.")
    changed = serializers.IntegerField(help_text="Number of RRsets that changed.")
    removed = serializers.IntegerField(help_text="Number of RRsets that were removed.")


class PlanSerializer(MovedSerializer):
    """The planned effect of a publication on one zone."""

    kind = serializers.ChoiceField(choices=RevisionKind.values, help_text="Kind of change to the zone.")
    changes = ChangeSerializer(
        many=True, help_text="Changed RRsets. For created and deleted zones only if these have at most 1,000 together."
    )
    conflicts = ConflictSerializer(many=True)
    violations = ViolationSerializer(many=True)
    guard = serializers.ListField(child=serializers.CharField(), help_text="Reasons why it needs `confirm`.")


class ZoneRefusalSerializer(Shape):
    """A zone that isn't changed, with the reason."""

    zone = serializers.CharField()
    reason = serializers.CharField(help_text="Reason why the zone stays unchanged.")


class PlansSerializer(Shape):
    """The planned effects of a publication. Nothing was changed."""

    plans = PlanSerializer(many=True)
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Reasons for `confirm`; empty: none.")
    refusals = ZoneRefusalSerializer(
        many=True, required=False, help_text="Deleted zones that would stay in the trash, with reasons."
    )


class UndoSerializer(TermsSerializer):
    """The options for an undo."""

    into = Choice(
        choices=["publication", "draft"],
        default="publication",
        help_text="`publication` publishes at once; `draft` puts the changes into your draft.",
    )


class FoundSerializer(Shape):
    """A zone or an RRset that a search found."""

    kind = serializers.ChoiceField(choices=["zone", "rrset"], help_text="Kind of result.")
    zone = serializers.CharField()
    rrset = RRsetSerializer(allow_null=True, help_text="null: a zone was found.")
    url = serializers.CharField()
    complaint = serializers.CharField(help_text="For `has:warning`: complaint of the checks.")
