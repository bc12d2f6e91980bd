"""OpenAPI schemas for the DNSSEC answers of parent name servers and nodes."""

from rest_framework import serializers

from dnspanel.api.v2.schema.fields import Shape
from dnspanel.fleet.dnssec.node_answers import Verdict
from dnspanel.fleet.models import ParentState

_STATES = [(str(state.value), str(state.label)) for state in ParentState]
_VERDICTS = [(str(each), str(each)) for each in Verdict]


class ParentServerSerializer(Shape):
    """A name server of the parent zone, and the DS records that it serves."""

    server = serializers.CharField(
        help_text="Name and address of the server; `this panel` for a parent zone that is here."
    )
    ds = serializers.ListField(child=serializers.CharField(), help_text="Rdata of DS records.")


class ParentCheckSerializer(Shape):
    """The state of the DS records at the parent zone, and the last answers of the parent's name servers."""

    zone = serializers.CharField()
    state = serializers.ChoiceField(choices=_STATES, help_text="State at the last successful check.")
    message = serializers.CharField(help_text="State in words.")
    parent = serializers.CharField(
        allow_null=True,
        help_text="Name of the parent zone; null: unknown, or a zone of this panel that the token cannot read.",
    )
    servers = ParentServerSerializer(many=True)
    ds_ttl = serializers.IntegerField(allow_null=True, help_text="TTL of the DS records at the parent.")
    since = serializers.DateTimeField(allow_null=True, help_text="Start of this state.")
    known_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last successful check.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last check.")
    silent = serializers.CharField(help_text="Reason why the last check failed; empty if it succeeded.")
    silent_since = serializers.DateTimeField(allow_null=True, help_text="Start of the failed checks; null: none.")
    waiting = serializers.BooleanField(help_text="True while a requested check is not done.")


class DnssecNodeSerializer(Shape):
    """A node's answers for a zone. The panel queries the node over DNS during this request."""

    node = serializers.CharField(help_text="Name of the node.")
    has_last_change = serializers.BooleanField(
        allow_null=True, help_text="True if the node confirmed the last signing change; null: there was none."
    )
    verdict = serializers.ChoiceField(choices=_VERDICTS, help_text="Result of the panel's validation of the answers.")
    reason = serializers.CharField(help_text="Reason if bogus or silent; else empty.")
    serial = serializers.IntegerField(allow_null=True)
    key_tags = serializers.ListField(child=serializers.IntegerField(), help_text="Tags of the DNSKEY records.")
    signature_ends = serializers.DateTimeField(allow_null=True, help_text="Expiry of the SOA's signature.")


class UnprovenZoneSerializer(Shape):
    """A zone that doesn't validate on a node although no publication broke it."""

    zone = serializers.CharField()
    node = serializers.CharField(help_text="Name of the node.")
    problem = serializers.CharField(help_text="Problem with the signatures or proofs on the node, in words.")
    since = serializers.DateTimeField(help_text="Start of sending changes without the validation check.")
    looked_at = serializers.DateTimeField(help_text="Time of the last query to the node, which is repeated.")
