"""The actor of an act, in the one form that API v2 and webhooks have for it (`actor_form`)."""

from typing import Any

from rest_framework import serializers

from dnspanel.accounts.actors.actor_form import KINDS


class TokenNameSerializer(serializers.Serializer):
    """A token, as answers name it: without its secret."""

    id = serializers.IntegerField()
    prefix = serializers.CharField(help_text="The visible beginning of its secret.")
    purpose = serializers.CharField()


class ActorSerializer(serializers.Serializer):
    """Who acted: a person, a token on behalf of a person, the panel itself, or a visitor who was not signed in."""

    kind = serializers.ChoiceField(choices=KINDS)
    user = serializers.CharField(
        allow_null=True, help_text="User name of the person, of a token its owner at that time; null: nobody's."
    )
    token = TokenNameSerializer(allow_null=True, help_text="The token that acted; null: none, or none was noted.")

    def __init__(self, **kwargs: Any) -> None:
        """Make the field one that answers have and requests do not."""
        super().__init__(**{"read_only": True, **kwargs})
