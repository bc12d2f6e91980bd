"""Schemas of DNSSEC answers from parent servers and nodes, for the OpenAPI document."""

from rest_framework import serializers

from dnspanel.api.v2.schema.fields import Shape
from dnspanel.fleet.dnssec.node_answers import Verdict
from dnspanel.fleet.models import ParentState

_STATES = [(str(state.value), str(state.label)) for state in ParentState]
_VERDICTS = [(str(each), str(each)) for each in Verdict]


class ParentServerSerializer(Shape):
    """A name server of the parent zone and the DS records that it serves."""

    server = serializers.CharField(
        help_text="Name and address of the server; `this panel` for a parent zone that is here."
    )
    ds = serializers.ListField(child=serializers.CharField(), help_text="Rdata of DS records.")


class ParentCheckSerializer(Shape):
    """The state of the DS records at the parent zone, and the last answers of its name servers."""

    zone = serializers.CharField()
    state = serializers.ChoiceField(choices=_STATES, help_text="As of the last look that came to something.")
    message = serializers.CharField(help_text="The same for people.")
    parent = serializers.CharField(
        allow_null=True,
        help_text="Name of the parent zone; null: unknown, or a zone of this panel that the token cannot read.",
    )
    servers = ParentServerSerializer(many=True)
    ds_ttl = serializers.IntegerField(allow_null=True, help_text="TTL of the DS records there.")
    since = serializers.DateTimeField(allow_null=True, help_text="Since when it has this state.")
    known_at = serializers.DateTimeField(allow_null=True, help_text="When a look last came to something.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When it was asked last.")
    silent = serializers.CharField(help_text="Why the last look came to nothing; empty where it did not.")
    silent_since = serializers.DateTimeField(allow_null=True, help_text="Since when no server answers.")
    waiting = serializers.BooleanField(help_text="Whether a check was asked for and is not done yet.")


class DnssecNodeSerializer(Shape):
    """A node's answers for a zone, queried over DNS for this request."""

    node = serializers.CharField(help_text="Name of the node.")
    has_last_change = serializers.BooleanField(
        allow_null=True, help_text="It has proved the last change of the signing; null: there was none."
    )
    verdict = serializers.ChoiceField(choices=_VERDICTS, help_text="Of its signatures, by the panel's own validator.")
    reason = serializers.CharField(help_text="Why it is bogus or silent; else empty.")
    serial = serializers.IntegerField(allow_null=True)
    key_tags = serializers.ListField(child=serializers.IntegerField(), help_text="Of its DNSKEY records.")
    signature_ends = serializers.DateTimeField(allow_null=True, help_text="Of the signature over the SOA.")


class UnprovenZoneSerializer(Shape):
    """A zone that doesn't validate on a node although no publication broke it."""

    zone = serializers.CharField()
    node = serializers.CharField(help_text="Name of the node.")
    problem = serializers.CharField(help_text="What is wrong with its signatures or proofs there, for people.")
    since = serializers.DateTimeField(help_text="Since when changes of it are pushed there without that proof.")
    looked_at = serializers.DateTimeField(help_text="When the node was asked last; it is, all the time.")
