"""People: who has an account, what they may do and why. For who may manage people; everybody sees themselves."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts import explain_rights, invite, people
from dnspanel.accounts.actors import Actor
from dnspanel.accounts.errors import PersonUnknown
from dnspanel.accounts.grants import Right
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.roles import Permission
from dnspanel.api.v2.http.answers import actor_in, answer
from dnspanel.api.v2.http.conditional_write import conditional_write, tagged
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import bad_parameter
from dnspanel.api.v2.http.secret_once import OneSecretView, once
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Shape, page_of, read, stamp, text_parameter, type_number
from dnspanel.zones import access
from replication.dns import names, rdtypes
from replication.errors import BadName

REASONS = [("role", "the role"), ("team", "being in a team"), ("grant", "a grant")]


class UserSerializer(Shape):
    """A person with an account."""

    id = serializers.IntegerField(read_only=True)
    username = serializers.CharField(read_only=True)
    email = serializers.CharField(read_only=True)
    role = Choice(choices=Role.choices)
    active = Flag(help_text="Whether they may sign in; tokens of a closed account open nothing.")
    last_sign_in_at = serializers.DateTimeField(read_only=True, allow_null=True)
    joined_at = serializers.DateTimeField(read_only=True)


class InvitationSerializer(Shape):
    """A one-time link that makes one account."""

    role = Choice(choices=Role.choices)
    link = serializers.URLField(
        read_only=True, allow_null=True, help_text="Shown once: a repeated request with the same key has null here."
    )
    expires_at = serializers.DateTimeField(read_only=True)


class ReasonSerializer(serializers.Serializer):
    """What gives a right."""

    source = serializers.ChoiceField(choices=REASONS)
    id = serializers.IntegerField(allow_null=True, help_text="Of the team or the grant.")
    words = serializers.CharField()


class VerdictSerializer(serializers.Serializer):
    """One right, and what gives it; nothing does if it is not allowed."""

    right = serializers.ChoiceField(choices=[(str(right), str(right)) for right in Right])
    allowed = serializers.BooleanField()
    because = ReasonSerializer(many=True)


class RightsSerializer(serializers.Serializer):
    """May this person do that, and why."""

    user = serializers.CharField()
    zone = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    type = serializers.CharField(allow_null=True)
    rights = VerdictSerializer(many=True)


class Users(V2View):
    """Everybody with an account."""

    @extend_schema(operation_id="listUsers", parameters=PAGED, responses=page_of(UserSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List people."""
        subject = page_request(request, int)
        found = _visible_to(actor_in(request)).order_by("pk").filter(pk__gt=subject.after[0] if subject.after else 0)
        rows, more = cut(list(found[: subject.limit + 1]), subject.limit)
        return page_answer(request, [user_json(user) for user in rows], (rows[-1].pk,) if more else None)


class OneUser(V2View):
    """A person."""

    @extend_schema(operation_id="getUser", responses=UserSerializer)
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """Read a person."""
        return tagged(user_json(_user_for(actor_in(request), user_id)))

    @extend_schema(operation_id="changeUser", request=UserSerializer, responses=UserSerializer)
    def patch(self, request: Request, user_id: int) -> HttpResponse:
        """Give a person another role, close their account or open it again."""
        actor = actor_in(request)
        user = _user_for(actor, user_id)
        access.require(actor, Permission.PEOPLE)
        values = read(UserSerializer, request.data, partial=True)
        with conditional_write(request, f"user/{user_id}", lambda: user_json(_user_for(actor, user_id))):
            _change(user, values, actor)
        return tagged(user_json(_user_for(actor, user_id)))


class UserRights(V2View):
    """What a person may do with a zone."""

    @extend_schema(
        operation_id="getUserRights",
        parameters=[
            OpenApiParameter("zone", str, required=True, description="Name of a zone."),
            OpenApiParameter("name", str, description="Owner name in the zone; needs `type`."),
            OpenApiParameter("type", str, description="Record type; needs `name`."),
        ],
        responses=RightsSerializer,
    )
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """May this person do that, and why.

        Without `name` and `type` a right counts when it is had at some name and type.
        """
        actor = actor_in(request)
        user = _user_for(actor, user_id)
        subject = _subject(request, actor)
        reasons = explain_rights.reasons_of(user)
        verdicts = [(right, explain_rights.reasons_for(reasons, right, subject)) for right in Right]
        return answer(
            {
                "user": user.username,
                "zone": subject.zone_name,
                "name": subject.name or None,
                "type": rdtypes.type_to_text(subject.type) if subject.type else None,
                "rights": [
                    {
                        "right": str(right),
                        "allowed": bool(found),
                        "because": [{"source": one.source, "id": one.id, "words": one.description} for one in found],
                    }
                    for right, found in verdicts
                ],
            }
        )


class Invitations(OneSecretView):
    """Invitations."""

    unconditional = True

    @extend_schema(operation_id="invite", request=InvitationSerializer, responses={201: InvitationSerializer})
    def post(self, request: Request) -> HttpResponse:
        """Invite somebody.

        The answer has a link that makes one account with this role. It works once, for two days.
        """
        actor = actor_in(request)
        access.require(actor, Permission.PEOPLE)
        role = read(InvitationSerializer, request.data)["role"]
        now = timezone.now()
        secret = invite.make_invitation(role=role, by=actor, now=now)
        link = settings.PANEL_URL + reverse("welcome", args=[secret])
        return once({"role": role, "link": link, "expires_at": stamp(now + invite.LIFETIME)}, secret="link")


def user_json(user: User) -> dict[str, Any]:
    """A person as answered."""
    return {
        "id": user.pk,
        "username": user.username,
        "email": user.email,
        "role": user.role,
        "active": user.is_active,
        "last_sign_in_at": stamp(user.last_login),
        "joined_at": stamp(user.date_joined),
    }


def _change(user: User, values: dict[str, Any], actor: Actor) -> None:
    now = timezone.now()
    if "role" in values and values["role"] != user.role:
        people.change_role(user=user, role=values["role"], by=actor, now=now)
    if "active" in values and values["active"] != user.is_active:
        act = people.reactivate if values["active"] else people.deactivate
        act(user=user, by=actor, now=now)


def _visible_to(actor: Actor) -> "QuerySet[User]":
    found = User.objects.all()
    return found if Permission.PEOPLE in actor.permissions else found.filter(pk=actor.user.pk)


def _user_for(actor: Actor, user_id: int) -> User:
    user = _visible_to(actor).filter(pk=user_id).first()
    if user is None:
        raise PersonUnknown
    return user


def _subject(request: Request, actor: Actor) -> explain_rights.Subject:
    """What the query asks about, in a zone that the asker may know about. Raises Problem, Unknown."""
    query = request.query_params
    if not query.get("zone"):
        raise bad_parameter("zone", "Name a zone.")
    zone = access.zone_for_reading(actor, text_parameter(query, "zone", longest=1100))
    name, type_ = text_parameter(query, "name", longest=1100), text_parameter(query, "type")
    if bool(name) != bool(type_):
        raise bad_parameter("type" if name else "name", "Give name and type, or neither.")
    plain = explain_rights.Subject(zone.pk, zone.name, zone.tags, zone.team_id)
    if not name:
        return plain
    try:
        owner, number = names.parse(name, zone.name), type_number(type_)
    except BadName as exc:
        raise bad_parameter("name", str(exc)) from exc
    except serializers.ValidationError as exc:
        raise bad_parameter("type", str(exc.args[0] if exc.args else exc)) from exc
    return explain_rights.Subject(zone.pk, zone.name, zone.tags, zone.team_id, owner, number)
