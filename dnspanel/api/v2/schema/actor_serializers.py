"""Serializers for the JSON form of actors (`actor_form`), which API v2 and webhooks share."""

from typing import Any

from rest_framework import serializers

from dnspanel.accounts.actors.actors import ACTOR_KINDS


class TokenNameSerializer(serializers.Serializer):
    """A token as shown in responses, without its secret."""

    id = serializers.IntegerField()
    prefix = serializers.CharField(help_text="Visible beginning of the token's secret.")
    purpose = serializers.CharField()


class ActorSerializer(serializers.Serializer):
    """The actor: a person, a token on behalf of a person, the panel itself, or a visitor who isn't signed in."""

    kind = serializers.ChoiceField(choices=ACTOR_KINDS)
    user = serializers.CharField(
        allow_null=True, help_text="User name of the person, or of the token's owner at that time; null: none."
    )
    token = TokenNameSerializer(allow_null=True, help_text="Token that acted; null: none, or not recorded.")

    def __init__(self, **kwargs: Any) -> None:
        """Make the field read-only by default."""
        super().__init__(**{"read_only": True, **kwargs})
