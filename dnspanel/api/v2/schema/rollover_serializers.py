"""OpenAPI schemas for DNSSEC key rollovers."""

from typing import Any

from rest_framework import serializers

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.dnssec_serializers import MOST_NUMBER, made_algorithm
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, Shape
from dnspanel.api.v2.schema.publication_serializers import LOST, WrittenSerializer
from dnspanel.zones.dnssec.rollover_stages import EMERGENCY, Kind, Step

_KINDS = [(str(kind), str(kind)) for kind in Kind]
_STEPS = [(str(step), str(step)) for step in Step]
_STATES = [(word, word) for word in ("done", "current", "to-come")]


class RolloverStepSerializer(Shape):
    """A step of a rollover."""

    step = serializers.ChoiceField(choices=_STEPS, help_text="Name of the step.")
    state = serializers.ChoiceField(choices=_STATES, help_text="State: done, under way or to come.")


class RolloverSerializer(Shape):
    """A DNSSEC rollover and its state."""

    id = serializers.IntegerField()
    zone = serializers.CharField()
    kind = serializers.ChoiceField(choices=_KINDS, help_text="Kind, which names the replaced keys.")
    emergency = serializers.BooleanField(help_text="True if it skips waiting times.")
    step = serializers.ChoiceField(choices=_STEPS, help_text="Current step.")
    steps = RolloverStepSerializer(many=True)
    waits_for = serializers.CharField(help_text="Condition for the next step, in words; empty after the end.")
    waits_since = serializers.DateTimeField(help_text="Start of the wait in this step.")
    earliest = serializers.DateTimeField(allow_null=True, help_text="Time of the next step, if only time must pass.")
    stuck = serializers.BooleanField(help_text="True if it needs a person to act.")
    late = serializers.ListField(child=serializers.CharField(), help_text="Nodes that do not serve the step yet.")
    late_secondaries = serializers.ListField(
        child=serializers.CharField(), help_text="Secondaries that lack the step; not checked in an emergency."
    )
    add_ds = serializers.ListField(
        child=serializers.CharField(), help_text="DS records that the parent zone must have."
    )
    remove_ds = serializers.ListField(
        child=serializers.CharField(), help_text="DS records that the parent zone must no longer have."
    )
    old_keys = serializers.ListField(child=serializers.IntegerField(), help_text="Ids of the old keys.")
    new_keys = serializers.ListField(child=serializers.IntegerField(), help_text="Ids of the new keys.")
    started_at = serializers.DateTimeField()
    started_by = ActorSerializer(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    cancelled = serializers.BooleanField(help_text="True if it returns to the old keys.")


class RolloverWrittenSerializer(WrittenSerializer):
    """The result of starting or canceling a rollover, with the rollover's state."""

    rollover = RolloverSerializer(required=False, help_text=f"Current state. {LOST}")


class RolloverKindSerializer(Shape):
    """A kind of rollover. If the zone's keys don't allow it, the reason is included."""

    kind = serializers.ChoiceField(choices=_KINDS, help_text="Kind, which names the replaced keys.")
    refusal = serializers.CharField(allow_null=True, help_text="Reason why it is impossible; null: none.")
    emergency_breaks = serializers.CharField(
        allow_null=True, help_text="Damage that an emergency causes; null: impossible."
    )


class NewRolloverSerializer(Shape):
    """A rollover to start."""

    kind = Choice(choices=_KINDS, help_text="Kind, which names the keys to replace.")
    algorithm = Integer(
        default=None, allow_null=True, min_value=0, max_value=255, help_text="New algorithm, only for kind algorithm."
    )
    bits = Integer(default=None, allow_null=True, min_value=1, max_value=MOST_NUMBER, help_text="Size of new RSA keys.")
    emergency = Flag(
        default=False, help_text="Remove the old keys at once. Validation fails for a while: see rollover-kinds."
    )

    def validate_algorithm(self, value: int | None) -> int | None:
        return None if value is None else made_algorithm(value)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["kind"] == Kind.ALGORITHM) != (attrs["algorithm"] is not None):
            message = "Send `algorithm` for an algorithm rollover, and for no other kind."
            code = "required" if attrs["algorithm"] is None else NOT_TOGETHER
            raise serializers.ValidationError({"algorithm": [message]}, code)
        if attrs["emergency"] and Kind(attrs["kind"]) not in EMERGENCY:
            raise serializers.ValidationError(
                {"emergency": ["A rollover of this kind cannot be an emergency: leave `emergency` out."]}, NOT_TOGETHER
            )
        return attrs


class RolloverCancelSerializer(Shape):
    """The options for canceling a rollover."""

    withdrawn = Flag(
        default=False, help_text="Confirms that no request for the new DS is still under way to the parent."
    )
