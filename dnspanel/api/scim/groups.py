"""SCIM groups. The directory's rules decide the rights that a group's members get in the panel."""

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

from dnspanel.accounts.models import ScimGroup
from dnspanel.accounts.scim import scim_groups as verbs
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.api.scim.changes import group_in, operations_in, patched_group
from dnspanel.api.scim.conditions import answer_resource, refuse_moved
from dnspanel.api.scim.filters import Term
from dnspanel.api.scim.lists import Resource, list_answer, query_in
from dnspanel.api.scim.people import id_of, location_of
from dnspanel.api.scim.view import ScimView, actor_in, answer, directory_in
from dnspanel.api.v2.http.answers import no_content
from dnspanel.api.v2.http.etag import tag_of
from dnspanel.api.v2.schema.fields import stamp

MOST_PER_PAGE = 20  # because each group can have many members
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
_SEARCHED: dict[str, Callable[[str], Q]] = {
    "displayname": partial(same_but_for_ascii_case, "name"),
    "externalid": lambda text: Q(external_id=text),
}


class Groups(ScimView):
    def get(self, request: Request) -> HttpResponse:
        """List the directory's groups."""
        rows = verbs.groups_of(directory_in(request))
        return answer(list_answer(query_in(request), rows, _condition, groups_json, MOST_PER_PAGE))

    def post(self, request: Request) -> HttpResponse:
        """Create a group, and give its members the group's roles and teams."""
        group = verbs.create_group(
            directory=directory_in(request), terms=group_in(request.data), by=actor_in(request), now=timezone.now()
        )
        return answer_resource(request, _group_json(group), 201)


class GroupsSearch(ScimView):
    """Group search by POST, with the query in the body to keep it out of URLs and access logs."""

    def post(self, request: Request) -> HttpResponse:
        """List the directory's groups that match the query in the body."""
        return Groups().get(request)


class OneGroup(ScimView):
    def get(self, request: Request, key: str) -> HttpResponse:
        """Return a group with its members."""
        return answer_resource(request, _group_json(verbs.group_of(directory_in(request), id_of(key))))

    def put(self, request: Request, key: str) -> HttpResponse:
        """Replace all attributes of a group."""
        return self._change(request, key, lambda before: group_in(request.data))

    def patch(self, request: Request, key: str) -> HttpResponse:
        """Change some attributes of a group (SCIM PATCH)."""
        operations = operations_in(request.data)
        return self._change(request, key, lambda before: patched_group(before, operations))

    def delete(self, request: Request, key: str) -> HttpResponse:
        """Delete a group, and take back the roles and teams that the group gave."""
        verbs.delete_group(
            directory=directory_in(request),
            pk=id_of(key),
            check=lambda group: refuse_moved(request, _group_json(group)),
            by=actor_in(request),
            now=timezone.now(),
        )
        return no_content()

    def _change(self, request: Request, key: str, changed: Any) -> HttpResponse:
        def change(group: ScimGroup) -> verbs.GroupTerms:
            refuse_moved(request, _group_json(group))
            terms: verbs.GroupTerms = changed(verbs.GroupTerms(group.name, group.external_id, verbs.members_of(group)))
            return terms

        group = verbs.change_group(
            directory=directory_in(request), pk=id_of(key), change=change, by=actor_in(request), now=timezone.now()
        )
        return answer_resource(request, _group_json(group))


def groups_json(groups: Sequence[ScimGroup]) -> list[Resource]:
    """Return groups as SCIM resources. Reads their members with one query."""
    members: dict[int, list[Resource]] = defaultdict(list)
    through = ScimGroup.people.through.objects.filter(scimgroup__in=groups).order_by("scimperson__user_id")
    for group_id, user_id in through.values_list("scimgroup_id", "scimperson__user_id"):
        members[group_id].append({"value": str(user_id), "$ref": location_of(user_id), "type": "User"})
    return [_represent_group(group, members.get(group.pk, [])) for group in groups]


def _group_json(group: ScimGroup) -> Resource:
    return groups_json([group])[0]


def _condition(term: Term) -> Q:
    """Convert a filter term to a query condition on groups. Raise KeyError if the attribute isn't searchable."""
    if term.attribute in ("members", "members.value"):
        return Q(people__user_id=id_of(term.value) if isinstance(term.value, str) else 0)
    if term.attribute == "id":
        return Q(pk=id_of(term.value) if isinstance(term.value, str) else 0)
    condition = _SEARCHED[term.attribute]
    return condition(term.value) if isinstance(term.value, str) and "\0" not in term.value else Q(pk=0)


def _represent_group(group: ScimGroup, members: Sequence[Resource]) -> Resource:
    resource: Resource = {"schemas": [GROUP], "id": str(group.pk), "displayName": group.name}
    if group.external_id:
        resource["externalId"] = group.external_id
    if members:
        resource["members"] = members
    return resource | {
        "meta": {
            "resourceType": "Group",
            "created": stamp(group.created_at),
            "lastModified": stamp(group.changed_at),
            "location": settings.PANEL_URL + reverse("api:scim:group", args=[group.pk]),
            "version": tag_of(resource),
        }
    }
