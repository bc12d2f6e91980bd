"""OpenAPI schemas for drafts and their changes, and for publishing and undoing them."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, Shape, Text
from dnspanel.api.v2.schema.zone_serializers import RRsetContentSerializer, RRsetSerializer, TermsSerializer, texts_of


class OperationSerializer(Shape):
    """A change in a draft: the published RRset and the draft's version of it."""

    operation = serializers.IntegerField(allow_null=True, help_text="null: the draft doesn't change it.")
    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    published = RRsetSerializer(allow_null=True, help_text="null: none.")
    wanted = RRsetSerializer(allow_null=True, help_text="null: deleted, or none.")
    mark = serializers.ChoiceField(
        choices=["added", "changed", "deleted"], allow_null=True, help_text="Kind of change in the draft; null: none."
    )
    conflict = serializers.BooleanField(help_text="True if others changed it after this edit began.")


@extend_schema_serializer(component_name="Wanted")
class DraftedSerializer(Shape):
    """The RRset to put into a draft."""

    wanted = RRsetContentSerializer(allow_null=True, help_text="null: delete the RRset.")
    base_revision = Integer(required=False, min_value=0, help_text="Zone revision that the change is based on.")


class DraftZoneSerializer(Shape):
    """A draft's changes to one zone."""

    zone = serializers.CharField()
    added = serializers.IntegerField(help_text="Number of added RRsets.")
    changed = serializers.IntegerField(help_text="Number of changed RRsets.")
    deleted = serializers.IntegerField(help_text="Number of deleted RRsets.")


class DraftSerializer(Shape):
    """The draft of the token's owner: the unpublished changes that the token is allowed to see."""

    zones = DraftZoneSerializer(many=True)
    operations = serializers.IntegerField(help_text="Number of changed RRsets.")
    digest = serializers.CharField(help_text="Digest of the changes.")


class PublishDraftSerializer(TermsSerializer):
    """The options for publishing a draft."""

    accept_warnings = Flag(default=False, help_text="true: publish despite warnings.")
    accepted = texts_of(required=False, max_length=100, help_text="Codes of accepted warnings.")
    zones = serializers.ListField(child=Text(), required=False, min_length=1, max_length=1000)


class ResolveSerializer(Shape):
    """The resolution of a conflict."""

    choice = Choice(choices=["theirs", "mine", "both"], help_text="Records to keep.")
