"""Schemas of drafts: their changes, and how to publish or undo them."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, Shape, Text
from dnspanel.api.v2.schema.zone_serializers import RRsetContentSerializer, RRsetSerializer, TermsSerializer, texts_of


class OperationSerializer(Shape):
    """A change in a draft: the published RRset and the draft's version of it."""

    operation = serializers.IntegerField(allow_null=True, help_text="null: the draft says nothing about it.")
    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    published = RRsetSerializer(allow_null=True, help_text="null: absent.")
    wanted = RRsetSerializer(allow_null=True, help_text="null: to be deleted, or absent.")
    mark = serializers.ChoiceField(
        choices=["added", "changed", "deleted"],
        allow_null=True,
        help_text="How the draft changes the RRset; null: not at all.",
    )
    conflict = serializers.BooleanField(help_text="Others published a change since this edit began.")


@extend_schema_serializer(component_name="Wanted")
class DraftedSerializer(Shape):
    """The RRset to put into a draft."""

    wanted = RRsetContentSerializer(allow_null=True, help_text="null: that it be deleted.")
    base_revision = Integer(required=False, min_value=0, help_text="The revision that you were looking at.")


class DraftZoneSerializer(Shape):
    """The changes in a draft to one zone."""

    zone = serializers.CharField()
    added = serializers.IntegerField(help_text="Number of RRsets that it adds.")
    changed = serializers.IntegerField(help_text="Number of RRsets that it changes.")
    deleted = serializers.IntegerField(help_text="Number of RRsets that it deletes.")


class DraftSerializer(Shape):
    """The draft of the token's owner: the unpublished changes that the token is allowed to see."""

    zones = DraftZoneSerializer(many=True)
    operations = serializers.IntegerField(help_text="Number of RRsets that it changes.")
    digest = serializers.CharField(help_text="Differs when any of it does.")


class PublishDraftSerializer(TermsSerializer):
    """The options for publishing a draft."""

    accept_warnings = Flag(required=False, default=False, help_text="true: publish in spite of warnings.")
    accepted = texts_of(required=False, max_length=100, help_text="Codes of warnings that are accepted.")
    zones = serializers.ListField(child=Text(), required=False, min_length=1, max_length=1000)


class ResolveSerializer(Shape):
    """The resolution of a conflict."""

    choice = Choice(choices=["theirs", "mine", "both"], help_text="Which records to keep.")
