"""URLs for SCIM 2.0, below `scim/v2/`. `NothingHere` responds to all other URLs with a SCIM error.

URLs can end in a slash, because some directories add one.
"""

from django.urls import URLPattern, path, re_path

from dnspanel.api.scim import discovery, groups, people
from dnspanel.api.scim.view import NothingHere

app_name = "scim"

_ROUTES: list[URLPattern] = [
    path("ServiceProviderConfig", discovery.ServiceProviderConfig.as_view(), name="config"),
    path("ResourceTypes", discovery.ResourceTypes.as_view(), name="resource-types"),
    path("ResourceTypes/<str:name>", discovery.OneResourceType.as_view(), name="resource-type"),
    path("Schemas", discovery.Schemas.as_view(), name="schemas"),
    path("Schemas/<str:urn>", discovery.OneSchema.as_view(), name="schema"),
    path("Users", people.People.as_view(), name="users"),
    path("Users/.search", people.PeopleSearch.as_view(), name="users-search"),
    path("Users/<str:key>", people.OnePerson.as_view(), name="user"),
    path("Groups", groups.Groups.as_view(), name="groups"),
    path("Groups/.search", groups.GroupsSearch.as_view(), name="groups-search"),
    path("Groups/<str:key>", groups.OneGroup.as_view(), name="group"),
]

urlpatterns: list[URLPattern] = [
    *_ROUTES,
    *(path(f"{route.pattern}/", route.callback, name=f"{route.name}-slash") for route in _ROUTES),
    re_path("", NothingHere.as_view(), name="nothing"),
]
