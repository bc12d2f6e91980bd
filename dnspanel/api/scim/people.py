"""SCIM users. A directory sees the users that it manages, and users that it is allowed to take over."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.find_people import has_mail, has_username
from dnspanel.accounts.models import ScimGroup, ScimPerson, User
from dnspanel.accounts.scim import scim_people as verbs
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.api.scim.changes import operations_in, patched_person, person_in
from dnspanel.api.scim.conditions import answer_resource, refuse_moved
from dnspanel.api.scim.filters import Term
from dnspanel.api.scim.lists import Resource, list_answer, query_in
from dnspanel.api.scim.view import ScimView, actor_in, answer, directory_in
from dnspanel.api.v2.http.answers import no_content
from dnspanel.api.v2.http.etag import tag_of
from dnspanel.api.v2.schema.fields import stamp

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
_SEARCHED: dict[str, Callable[[str], Q]] = {
    "username": has_username,
    "externalid": lambda text: Q(scim_person__external_id=text),
    "displayname": partial(same_but_for_ascii_case, "scim_person__display_name"),
    "emails": has_mail,
    "emails.value": has_mail,
    "name.givenname": partial(same_but_for_ascii_case, "first_name"),
    "name.familyname": partial(same_but_for_ascii_case, "last_name"),
}


class People(ScimView):
    def get(self, request: Request) -> HttpResponse:
        """List the users that are visible to the directory."""
        rows = verbs.people_of(directory_in(request))
        return answer(list_answer(query_in(request), rows, user_condition, users_json))

    def post(self, request: Request) -> HttpResponse:
        """Create a user, or reopen an account that the directory deleted before."""
        user = verbs.create_person(
            directory=directory_in(request), terms=person_in(request.data), by=actor_in(request), now=timezone.now()
        )
        return answer_resource(request, _user_json(user), 201)


class PeopleSearch(ScimView):
    """User search by POST, with the query in the body to keep it out of URLs and access logs."""

    def post(self, request: Request) -> HttpResponse:
        """List the users that match the query in the body."""
        return People().get(request)


class OnePerson(ScimView):
    def get(self, request: Request, key: str) -> HttpResponse:
        """Return a user."""
        return answer_resource(request, _user_json(verbs.person_of(directory_in(request), id_of(key))))

    def put(self, request: Request, key: str) -> HttpResponse:
        """Replace all attributes of a user."""
        return self._change(request, key, lambda before: person_in(request.data, before))

    def patch(self, request: Request, key: str) -> HttpResponse:
        """Change some attributes of a user (SCIM PATCH)."""
        operations = operations_in(request.data)
        return self._change(request, key, lambda before: patched_person(before, operations))

    def delete(self, request: Request, key: str) -> HttpResponse:
        """Close a user's account and remove the user from the directory."""
        verbs.delete_person(
            directory=directory_in(request),
            pk=id_of(key),
            check=lambda user: refuse_moved(request, _user_json(user)),
            by=actor_in(request),
            now=timezone.now(),
        )
        return no_content()

    def _change(self, request: Request, key: str, changed: Any) -> HttpResponse:
        def change(user: User) -> verbs.PersonTerms:
            refuse_moved(request, _user_json(user))
            terms: verbs.PersonTerms = changed(terms_of(user))
            return terms

        user = verbs.change_person(
            directory=directory_in(request), pk=id_of(key), change=change, by=actor_in(request), now=timezone.now()
        )
        return answer_resource(request, _user_json(user))


def id_of(key: str) -> int:
    """Parse a resource id. Return 0 if it is invalid, because no resource has the id 0."""
    return int(key) if key.isascii() and key.isdigit() and len(key) <= 18 else 0


def terms_of(user: User) -> verbs.PersonTerms:
    """Return a user's current attributes."""
    kept: ScimPerson | None = getattr(user, "scim_person", None)
    return verbs.PersonTerms(
        username=user.username,
        email=user.email or "",
        first_name=user.first_name,
        last_name=user.last_name,
        display_name=kept.display_name if kept else "",
        external_id=kept.external_id if kept else "",
        active=user.is_active,
    )


def users_json(users: Sequence[User]) -> list[Resource]:
    """Return users as SCIM resources. Reads their groups and SCIM data with two queries."""
    kept = {person.user_id: person for person in ScimPerson.objects.filter(user__in=users)}
    groups: dict[int, list[ScimGroup]] = defaultdict(list)
    through = ScimGroup.people.through.objects.filter(scimperson__in=kept.values()).select_related("scimgroup")
    for row in through.order_by("scimgroup_id"):
        groups[row.scimperson_id].append(row.scimgroup)
    return [
        _represent_user(user, person, groups.get(person.pk, []) if person else [])
        for user in users
        for person in [kept.get(user.pk)]
    ]


def user_condition(term: Term) -> Q:
    """Convert a filter term to a query condition on users. Raise KeyError if the attribute isn't searchable."""
    if term.attribute == "id":
        return Q(pk=id_of(term.value) if isinstance(term.value, str) else 0)
    if term.attribute == "active":
        return Q(is_active=term.value in (True, "True", "true"))
    if term.attribute == "emails.type":  # all addresses count as work addresses
        return Q() if term.value == "work" else Q(pk=0)
    if term.attribute == "emails.primary":
        return Q() if term.value is True else Q(pk=0)
    condition = _SEARCHED[term.attribute]
    return condition(term.value) if isinstance(term.value, str) and "\0" not in term.value else Q(pk=0)


def location_of(user_id: int) -> str:
    """Return a user's URL."""
    return settings.PANEL_URL + reverse("api:scim:user", args=[user_id])


def _user_json(user: User) -> Resource:
    return users_json([user])[0]


def _represent_user(user: User, person: ScimPerson | None, groups: Sequence[ScimGroup]) -> Resource:
    terms = terms_of(user)
    name = {"givenName": terms.first_name, "familyName": terms.last_name}
    changed_at = person.changed_at if person else user.date_joined
    resource: Resource = {
        "schemas": [USER],
        "id": str(user.pk),
        "externalId": terms.external_id,
        "userName": terms.username,
        "name": {part: text for part, text in name.items() if text},
        "displayName": terms.display_name,
        "active": terms.active,
        "emails": [{"value": terms.email, "type": "work", "primary": True}] if terms.email else [],
        "groups": [
            {
                "value": str(group.pk),
                "$ref": settings.PANEL_URL + reverse("api:scim:group", args=[group.pk]),
                "display": group.name,
                "type": "direct",
            }
            for group in groups
        ],
    }
    resource = {name: value for name, value in resource.items() if value not in ("", {}, [])}
    return resource | {
        "meta": {
            "resourceType": "User",
            "created": stamp(user.date_joined),
            "lastModified": stamp(changed_at),
            "location": location_of(user.pk),
            "version": tag_of(resource),
        }
    }
