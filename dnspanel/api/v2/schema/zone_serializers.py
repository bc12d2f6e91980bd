"""Schemas of zones, RRsets and their changes for the OpenAPI document.

Serializers also parse requests. Requests that can have a thousand RRsets are read by `parsing`, which is faster.
`representation` and `accepted` create the responses. A test validates real responses against the document.
"""

from typing import Any

from rest_framework import serializers

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import LARGEST_ID, Choice, Flag, Integer, Members, Shape, Text
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
        help_text="A comment for each of some `rdata`, by its text.",
    )


class RRsetSerializer(Shape):
    """An RRset: all records of one name and type."""

    name = serializers.CharField(help_text="Owner name, absolute.")
    type = serializers.CharField(help_text="Mnemonic, or TYPE and a number.")
    ttl = serializers.IntegerField(min_value=0, max_value=MOST_TTL)
    rdata = serializers.ListField(child=serializers.CharField(), help_text="Presentation texts, canonical.")
    disabled = serializers.ListField(child=serializers.CharField(), help_text="Those of them that are not served.")
    comment = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField(), required=False, help_text="Left out where it has none.")
    value_comments = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="By rdata; left out where none has any."
    )


class RRsetContentSerializer(Shape):
    """The content of an RRset."""

    ttl = Integer(min_value=0, max_value=MOST_TTL)
    rdata = texts_of(
        min_length=1, max_length=MOST_RDATA, help_text="Names are absolute and end in a dot; one without it is refused."
    )
    disabled = texts_of(
        required=False, max_length=MOST_RDATA, help_text="Those of `rdata` that are kept but not served."
    )
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()


class RRsetPatchSerializer(Shape):
    """Changes to an existing RRset. Omitted members don't change. `add` and `remove` keep the other records."""

    ttl = Integer(required=False, min_value=0, max_value=MOST_TTL)
    rdata = texts_of(required=False, min_length=1, max_length=MOST_RDATA)
    disabled = texts_of(required=False, max_length=MOST_RDATA, help_text="Values that are kept but not served.")
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()
    add = texts_of(required=False, max_length=MOST_RDATA, help_text="Records to add.")
    remove = texts_of(required=False, max_length=MOST_RDATA, help_text="Records not to have.")


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
        help_text="Needed for `replace`, and for `extend` of a new RRset.",
    )
    rdata = texts_of(required=False, max_length=MOST_RDATA, help_text="For all but delete.")
    disabled = texts_of(required=False, max_length=MOST_RDATA, help_text="Values that are kept but not served.")
    comment = Text(required=False, allow_blank=True, max_length=MOST_REASON)
    tags = _tags()
    value_comments = _value_comments()


class TermsSerializer(Shape):
    """The options for publishing."""

    reason = Text(
        required=False, allow_blank=True, default="", max_length=MOST_REASON, help_text="Why; the history shows it."
    )
    confirm = Flag(required=False, default=False, help_text="Confirm a change that deletes many records.")
    accept_warnings = Flag(required=False, default=True, help_text="false: warnings refuse the change.")


class ChangeTermsSerializer(TermsSerializer):
    """The options for publishing record changes."""

    ptr = Flag(
        required=False,
        default=False,
        help_text="Publish the PTRs of the changed addresses too, where their reverse zone is here and yours: they "
        "come, take the place of other names, and go.",
    )


class ZoneToDeleteSerializer(Shape):
    """A zone to delete, optionally only if it is at a given revision."""

    zone = Text(max_length=1100)
    at_revision = Integer(required=False, min_value=1, help_text="Only if the zone is at this revision still.")


class DeletionsSerializer(Shape):
    """Zones to delete. Either all zones are deleted or none."""

    zones = ZoneToDeleteSerializer(many=True, allow_empty=False, max_length=1000)
    reason = Text(
        required=False, allow_blank=True, default="", max_length=MOST_REASON, help_text="Why; the history shows it."
    )
    confirm = Flag(required=False, default=False, help_text="Confirm deleting many zones.")


class ChangesSerializer(ChangeTermsSerializer):
    """Changes to RRsets of one zone. Either all changes are published or none."""

    changes = ChangeOrderSerializer(many=True)


class ZoneChangesSerializer(Shape):
    """The changes to one of several zones."""

    zone = Text()
    at_revision = Integer(required=False, min_value=0, help_text="Refuse all if the zone is at another one.")
    changes = ChangeOrderSerializer(many=True)


class BulkSerializer(ChangeTermsSerializer):
    """Changes to RRsets in several zones. Either all changes are accepted or none."""

    zones = ZoneChangesSerializer(many=True)


class NewZoneSerializer(Shape):
    """A zone to create.

    If `rrsets` lacks the SOA or name servers, the panel generates them from a set of name servers, and the zone then
    follows the set. This is the named set, or else the default set of the team or of the panel. Without any set, the
    panel's settings are used.
    """

    name = Text()
    rrsets = NewRRsetSerializer(many=True, required=False)
    nameservers = texts_of(required=False, min_length=1, max_length=50, help_text="Names of its name servers.")
    name_server_set = Integer(
        required=False, min_value=1, max_value=LARGEST_ID, help_text="Id of a set, in place of `nameservers`."
    )
    hostmaster = Text(required=False, help_text="The mailbox of the SOA, as a name.")
    team = Integer(required=False, allow_null=True, min_value=1, max_value=LARGEST_ID, help_text="Id of a team.")
    reason = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="Why; the history shows it.")


class ClonesSerializer(Shape):
    """Zones to create with the records of an existing zone."""

    names = texts_of(min_length=1, max_length=1000, help_text="Names of the new zones.")
    team = Integer(required=False, allow_null=True, min_value=1, max_value=LARGEST_ID, help_text="Id of a team.")
    tags = Flag(required=False, default=False, help_text="Copy the tags too. Needs the right `settings`.")
    reason = Text(required=False, allow_blank=True, max_length=MOST_REASON, help_text="Why; the history shows it.")


class ZonePatchSerializer(Shape):
    """Settings of a zone. Omitted members don't change."""

    tags = texts_of(required=False, max_length=50)
    team = Integer(
        required=False, allow_null=True, min_value=1, max_value=LARGEST_ID, help_text="Id of a team; null: no team."
    )
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
    revision = serializers.IntegerField(help_text="Number of its newest published change.")
    serial = serializers.IntegerField()
    rrset_count = serializers.IntegerField(help_text="Number of RRsets.")
    tags = serializers.ListField(child=serializers.CharField())
    team = serializers.IntegerField(allow_null=True)
    default_ttl = serializers.IntegerField(allow_null=True, help_text="Of new RRsets; null: the TTL of the SOA.")
    changed_at = serializers.DateTimeField()
    changed_by = ActorSerializer(allow_null=True, help_text="null: the token may not know who.")
    sequence = serializers.IntegerField(help_text="Of the publication that changed it last.")
    url = serializers.CharField()
    etag = serializers.CharField(help_text="For If-Match.")


class TrashedZoneSerializer(Shape):
    """A deleted zone that can be restored."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    serial = serializers.IntegerField()
    rrset_count = serializers.IntegerField(help_text="Number of RRsets.")
    deleted_at = serializers.DateTimeField(help_text="When it was deleted.")
    gone_at = serializers.DateTimeField(help_text="When it is gone for good.")
    url = serializers.CharField(help_text="POST to `/restore` below it brings it back.")


class ListedRRsetSerializer(RRsetSerializer):
    """An RRset in a list, with its tag."""

    etag = serializers.CharField(help_text="For If-Match.")


class ViolationSerializer(Shape):
    """A rule that a change breaks."""

    severity = serializers.ChoiceField(
        choices=["error", "warning", "note"], help_text="Only an `error` keeps a change back."
    )
    code = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    message = serializers.CharField(help_text="What is wrong, in words.")


class ConflictSerializer(Shape):
    """An RRset that someone else has changed in the meantime. null means that the RRset doesn't exist."""

    zone = serializers.CharField()
    operation = serializers.IntegerField(allow_null=True, help_text="Id of the change in the draft.")
    name = serializers.CharField()
    type = serializers.CharField()
    base = RRsetSerializer(allow_null=True)
    theirs = RRsetSerializer(allow_null=True)
    mine = RRsetSerializer(allow_null=True)


class ChangeSerializer(Shape):
    """An RRset before and after a change. null means that it doesn't exist."""

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

    kind = serializers.ChoiceField(choices=RevisionKind.values, help_text="What would happen to the zone.")
    changes = ChangeSerializer(
        many=True, help_text="The RRsets of zones that come or go only where these have at most 1,000 together."
    )
    conflicts = ConflictSerializer(many=True)
    violations = ViolationSerializer(many=True)
    guard = serializers.ListField(child=serializers.CharField(), help_text="Why it must be confirmed, if it must.")


class ZoneRefusalSerializer(Shape):
    """A zone that isn't changed, with the reason."""

    zone = serializers.CharField()
    reason = serializers.CharField(help_text="Why it stays as it is.")


class PlansSerializer(Shape):
    """The planned effects of a publication. Nothing was changed."""

    plans = PlanSerializer(many=True)
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Why `confirm` would be needed; empty: it would not."
    )
    refusals = ZoneRefusalSerializer(
        many=True, required=False, help_text="Deleted zones that would stay in the trash, and why."
    )


class UndoSerializer(TermsSerializer):
    """The options for an undo."""

    into = Choice(
        choices=["publication", "draft"],
        required=False,
        default="publication",
        help_text="`publication` publishes at once; `draft` puts the changes into your draft.",
    )


class FoundSerializer(Shape):
    """A zone or an RRset that a search found."""

    kind = serializers.ChoiceField(choices=["zone", "rrset"], help_text="Whether it is a zone or an RRset.")
    zone = serializers.CharField()
    rrset = RRsetSerializer(allow_null=True, help_text="null: it is the zone that was found.")
    url = serializers.CharField()
    complaint = serializers.CharField(help_text="For `has:warning`: what the checks say against the RRset.")
