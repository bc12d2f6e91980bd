"""API resources for people: accounts, service accounts, invitations, handovers, and rights with their sources.

Without the permission `people`, a caller sees only their own account.
"""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors import explain_rights
from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_form
from dnspanel.accounts.errors import AccountRefused, PersonUnknown
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people import invite, people
from dnspanel.accounts.people.same_person import set_same_person
from dnspanel.accounts.rights.own_roles import role_by_id
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import bad_parameter
from dnspanel.api.v2.http.view import V2View, answer, api_operation, query_parameter
from dnspanel.api.v2.resources.zone_access import ABOUT_RRSET, subject_in
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    Integer,
    Shape,
    Text,
    moment_parameter,
    page_of,
    read,
    stamp,
    text_parameter,
)
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import CodedMessage
from dnspanel.webhooks.hand_over import MOST_LISTED, hand_over
from dnspanel.zones.models import Draft, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.rights_history import Since, rights_since
from replication.dns import rdtypes

REASONS = [("role", "the role"), ("team", "membership in a team"), ("grant", "a grant")]


class UserSerializer(Shape):
    """A person with an account, or a service account."""

    id = serializers.IntegerField(read_only=True)
    username = serializers.CharField(read_only=True)
    email = serializers.CharField(read_only=True, allow_null=True, help_text="null for a service account.")
    service = serializers.BooleanField(read_only=True, help_text="True for a service account.")
    role = Choice(choices=Role.choices)
    own_role = Integer(
        allow_null=True, required=False, help_text="Id of a role from `listRoles`; `role` must then be `member`."
    )
    same_person_as = Integer(
        allow_null=True,
        required=False,
        help_text="Id of another account of the same person, or of the person behind a service account. None of "
        "these accounts can approve requests of another.",
    )
    active = Flag(help_text="True if the account is open. A closed account cannot sign in, and its tokens do not work.")
    last_sign_in_at = serializers.DateTimeField(read_only=True, allow_null=True, help_text="Last sign-in; null: never.")
    joined_at = serializers.DateTimeField(read_only=True, help_text="Creation of the account.")


class ServiceAccountSerializer(Shape):
    """A service account to create."""

    username = Text(max_length=150)
    role = Choice(choices=Role.choices, default=Role.MEMBER)


class HandOverSerializer(Shape):
    """The objects to hand over, and the account that receives them."""

    to = Integer(help_text="Id of the receiving account.")
    tokens = serializers.ListField(child=Integer(), default=list, max_length=MOST_LISTED, help_text="Ids of tokens.")
    webhooks = serializers.ListField(
        child=Integer(), default=list, max_length=MOST_LISTED, help_text="Ids of webhooks."
    )
    drafts = serializers.ListField(
        child=serializers.UUIDField(), default=list, max_length=MOST_LISTED, help_text="Keys of saved drafts."
    )
    publish_hooks = serializers.ListField(
        child=Integer(), default=list, max_length=MOST_LISTED, help_text="Ids of publish hooks."
    )


class HandedOverSerializer(serializers.Serializer):
    """The total number of tokens, webhooks, drafts and publish hooks that were handed over."""

    handed_over = serializers.IntegerField(help_text="Number of objects that were handed over.")


class InvitationSerializer(Shape):
    """A link that creates one account. The link works once."""

    role = Choice(choices=Role.choices)
    link = serializers.URLField(
        read_only=True, allow_null=True, help_text="Shown once: null in the response to a retry."
    )
    expires_at = serializers.DateTimeField(read_only=True)


class ReasonSerializer(serializers.Serializer):
    """The source of a right: a role, a team or a grant."""

    source = serializers.ChoiceField(choices=REASONS)
    id = serializers.IntegerField(allow_null=True, help_text="Id of the team or grant; else null.")
    words = serializers.CharField(help_text="Source in words.")


class VerdictSerializer(serializers.Serializer):
    """The result of the check for one right, and the sources of the right."""

    right = serializers.ChoiceField(
        choices=[(str(right), str(right)) for right in Right], help_text="The right over the zone."
    )
    allowed = serializers.BooleanField(help_text="True if the person has it.")
    because = ReasonSerializer(many=True)


class ActSinceSerializer(serializers.Serializer):
    """A later entry of the audit log that could have changed a right."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="Time of the act.")
    action = serializers.CharField(help_text="Code such as `grant.create`.")
    target = serializers.CharField(help_text="Changed object, in words.")
    actor = ActorSerializer()


class SinceSerializer(serializers.Serializer):
    """The comparison of a person's current rights with their rights at an earlier time."""

    at = serializers.DateTimeField(help_text="Requested time.")
    certain = serializers.BooleanField(help_text="True if nothing that decides the rights changed since then.")
    words = serializers.CharField(help_text="Answer in words.")
    acts = ActSinceSerializer(many=True, help_text="Newest 20 entries; needs the permission `audit`.")


class RightsSerializer(serializers.Serializer):
    """The rights of a person in a zone, and the sources of these rights."""

    user = serializers.CharField()
    zone = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    type = serializers.CharField(allow_null=True)
    rights = VerdictSerializer(many=True)
    since = SinceSerializer(allow_null=True)


class Users(V2View):
    @api_operation("listUsers", page_of(UserSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List people.

        Lists people and service accounts. Without the permission `people`, a token sees only its owner.
        """
        subject = page_request(request, int)
        found = _visible_to(self.actor).order_by("pk").filter(pk__gt=subject.after[0] if subject.after else 0)
        rows, more = cut(list(found[: subject.limit + 1]), subject.limit)
        return page_answer(request, [user_json(user) for user in rows], (rows[-1].pk,) if more else None)


class ServiceAccounts(V2View):
    """View to create a service account, which is an account for programs."""

    @api_operation("createServiceAccount", {201: UserSerializer}, request=ServiceAccountSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a service account.

        A service account cannot sign in. When the person who created its tokens leaves, the tokens stay valid, unless a
        token of this person created them. Needs the permission `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(ServiceAccountSerializer, request.data)
        made = create_service_account(name=values["username"], role=values["role"], by=self.actor, now=timezone.now())
        place = request.path.removesuffix("service-accounts") + f"users/{made.pk}"
        return answer_with_tag(user_json(made), 201, Location=place)


class HandOver(V2View):
    @api_operation("handOverAccount", HandedOverSerializer, request=HandOverSerializer)
    def post(self, request: Request, user_id: int) -> HttpResponse:
        """Hand over the objects of an account.

        Transfers the listed tokens, webhooks, drafts and publish hooks to another account. If one is refused, nothing
        is transferred. Ids of other objects are ignored, like webhooks that send mail. A token's webhooks move with the
        token. The token's secret stays valid until it is rotated. Needs the permission `people`.
        """
        user = user_for(self.actor, user_id)
        access.require(self.actor, Permission.PEOPLE)
        values = read(HandOverSerializer, request.data)
        count = hand_over(
            person=user,
            to=user_for(self.actor, values["to"]),
            token_ids=values["tokens"],
            webhook_ids=values["webhooks"],
            draft_ids=list(Draft.objects.filter(key__in=values["drafts"]).values_list("pk", flat=True)),
            hook_ids=values["publish_hooks"],
            by=self.actor,
            now=timezone.now(),
        )
        return answer({"handed_over": count})


class OneUser(V2View):
    @api_operation("getUser", UserSerializer)
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """Read a person.

        Returns the role, the state of the account and the last sign-in. Without the permission `people`, a token can
        read only its owner.
        """
        return answer_with_tag(user_json(user_for(self.actor, user_id)))

    @api_operation("changeUser", UserSerializer, request=UserSerializer)
    def patch(self, request: Request, user_id: int) -> HttpResponse:
        """Change the role or state of a person.

        Changes the person's role, or closes or opens the account. `same_person_as` marks two accounts as accounts of
        the same person. This person then cannot approve their own requests, and cannot remove the mark. Needs the
        permission `people`.
        """
        user = user_for(self.actor, user_id)
        access.require(self.actor, Permission.PEOPLE)
        values = read(UserSerializer, request.data, partial=True)
        with conditional_write(request, f"user/{user_id}", lambda: user_json(user_for(self.actor, user_id))):
            _change(user, values, self.actor)
        return answer_with_tag(user_json(user_for(self.actor, user_id)))


class UserRights(V2View):
    @api_operation(
        "getUserRights",
        RightsSerializer,
        query_parameter("zone", "Name of a zone.", required=True),
        *ABOUT_RRSET,
        query_parameter(
            "at",
            "A time in the past. `since` compares the rights with the rights at that time.",
            {"type": "string", "format": "date-time"},
        ),
    )
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """Check the rights of a person in a zone.

        For each right, returns whether the person has it, and the role, team or grant that gives it. Without `name` and
        `type`, a right counts if the person has it for at least one RRset. With `at`, also compares the rights with
        those at a time in the past. Without the permission `people`, a token can check only its owner.
        """
        user = user_for(self.actor, user_id)
        zone, subject = _subject(request, self.actor)
        at, now = moment_parameter(request.query_params, "at"), timezone.now()
        if at is not None and at > now:
            raise bad_parameter("at", "`at` must be a time in the past.", "out-of-range")
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
                "since": _since(rights_since(reader=self.actor, person=user, zone=zone, at=at)) if at else None,
            }
        )


class Invitations(V2View):
    @api_operation("createInvitation", {201: InvitationSerializer}, request=InvitationSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Invite a person.

        Returns a link that creates one account with the given role. The link works once, within two days. Needs the
        permission `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        role = read(InvitationSerializer, request.data)["role"]
        now = timezone.now()
        secret = invite.make_invitation(role=role, by=self.actor, now=now)
        link = settings.PANEL_URL + reverse("welcome", args=[secret])
        return once({"role": role, "link": link, "expires_at": stamp(now + invite.LIFETIME)}, secret="link")


def user_json(user: User) -> dict[str, Any]:
    """Return the JSON form of a person or service account."""
    return row_json(
        UserSerializer,
        user,
        service=user.is_service,
        active=user.is_active,
        last_sign_in_at=stamp(user.last_login),
        joined_at=stamp(user.date_joined),
    )


def _change(user: User, values: dict[str, Any], actor: Actor) -> None:
    now = timezone.now()
    if "own_role" in values:
        own = values["own_role"]
        role = values.get("role", user.role if own is None else Role.MEMBER)
    else:
        role = values.get("role", user.role)
        own = user.own_role_id if role == user.role else None
    if own is not None and role != Role.MEMBER:
        message = CodedMessage("`own_role` is only possible with the role `member`.", NOT_TOGETHER)
        raise AccountRefused({"own_role": [message]})
    if (role, own) != (user.role, user.own_role_id):
        own_role = None if own is None else role_by_id(own)
        people.change_role(user=user, role=role, own_role=own_role, by=actor, now=now)
    if "same_person_as" in values and values["same_person_as"] != user.same_person_as_id:
        other = None if values["same_person_as"] is None else user_for(actor, values["same_person_as"])
        set_same_person(user=user, other=other, by=actor, now=now)
    if "active" in values and values["active"] != user.is_active:
        act = people.reactivate if values["active"] else people.deactivate
        act(user=user, by=actor, now=now)


def _visible_to(actor: Actor) -> "QuerySet[User]":
    found = User.objects.all()
    return found if Permission.PEOPLE in actor.permissions else found.filter(pk=actor.user.pk)


def user_for(actor: Actor, user_id: int) -> User:
    """Return the person with this id. Raise PersonUnknown if the actor is not allowed to see the person."""
    return first_or(_visible_to(actor).filter(pk=user_id), PersonUnknown)


def _since(since: Since) -> dict[str, Any]:
    return {
        "at": stamp(since.at),
        "certain": since.is_certain,
        "words": since.words,
        "acts": [
            {
                "id": act.pk,
                "at": stamp(act.at),
                "action": act.action,
                "target": act.target,
                "actor": actor_form(act.user.username if act.user else None, act.token),
            }
            for act in since.acts
        ],
    }


def _subject(request: Request, actor: Actor) -> tuple[Zone, explain_rights.Subject]:
    """Return the zone that the query names, and the subject of the check: the zone or one of its RRsets.

    Raise Problem for an invalid query, and Unknown for a zone that the caller is not allowed to see.
    """
    query = request.query_params
    if not query.get("zone"):
        raise bad_parameter("zone", "`zone` is required: the name of a zone.", "required")
    zone = access.zone_for_reading(actor, text_parameter(query, "zone", longest=1100))
    return zone, subject_in(query, zone)
