"""Tests of every SCIM URL and method with every kind of caller. Only a directory's token is accepted.

A URL or method without a row in the table fails. Each directory sees only its own people.
"""

import pytest
from django.urls import get_resolver, reverse

from dnspanel.api.scim import urls
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.api.scim.conftest import GROUP, PATCH, USER, AtDirectory, MakeDirectory
from tests.dnspanel.api.test_every_url import api_urls
from tests.full import Sample
from tests.walks import walk

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATCHES = {
    "user": {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": True}]},
    "group": {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "displayName", "value": "x"}]},
}
# The name of the URL → method → status for its own directory, and for another one.
_WITHOUT_SLASH = {
    "config": {"GET": (200, 200)},
    "resource-types": {"GET": (200, 200)},
    "resource-type": {"GET": (200, 200)},
    "schemas": {"GET": (200, 200)},
    "schema": {"GET": (200, 200)},
    "users": {"GET": (200, 200), "POST": (201, 201)},
    "users-search": {"POST": (200, 200)},
    "user": {"GET": (200, 404), "PUT": (200, 404), "PATCH": (200, 404), "DELETE": (204, 404)},
    "groups": {"GET": (200, 200), "POST": (201, 201)},
    "groups-search": {"POST": (200, 200)},
    "group": {"GET": (200, 404), "PUT": (200, 404), "PATCH": (200, 404), "DELETE": (204, 404)},
}
ENDPOINTS = {
    **_WITHOUT_SLASH,
    **{f"{name}-slash": endpoints for name, endpoints in _WITHOUT_SLASH.items()},
    "nothing": dict.fromkeys(METHODS, (404, 404)),
}


def body_of(name: str, method: str, caller: str) -> object:
    name = name.removesuffix("-slash")
    if method == "PATCH":
        return PATCHES.get(name)
    if method in ("GET", "DELETE") or name.endswith("-search"):
        return {} if method == "POST" else None
    if name.startswith("group"):
        return {"schemas": [GROUP], "displayName": f"new of {caller}"}
    return {"schemas": [USER], "userName": f"{caller}@people.test"}


def test_every_url_stands_in_the_table() -> None:
    assert {str(pattern.name) for pattern in urls.urlpatterns} == ENDPOINTS.keys()
    assert not {"config", "users"} & set(api_urls(get_resolver()))


Urls = dict[str, str]


@pytest.fixture
def okta(directory: MakeDirectory) -> AtDirectory:
    """Return the directory that created the person and the group in the URLs."""
    return directory()


@pytest.fixture
def urls_of(okta: AtDirectory) -> Urls:
    """Return the URL of each named SCIM resource."""
    person = okta.made("maude")
    args = {
        "user": [person["id"]],
        "group": [okta.group("web", person)["id"]],
        "schema": [USER],
        "resource-type": ["User"],
    }
    named = {
        name: reverse(f"api:scim:{name}", args=args.get(name.removesuffix("-slash")))
        for name in ENDPOINTS
        if name != "nothing"
    }
    return {**named, "nothing": "/scim/v2/nothing"}


def test_nobody_else_gets_in(urls_of: Urls, api: MakeApi, sample: Sample) -> None:
    """Tokens for the other APIs are refused too."""
    callers = {caller: api(caller) for caller in Caller}
    attempts = [(method, name, caller) for name in urls_of for method in METHODS for caller in Caller]
    with walk() as step:
        for method, name, caller in sample.turn(
            attempts, 800, reason="requests of SCIM by callers without a directory"
        ):
            with step(method, name, caller):
                response = callers[caller].send(method, urls_of[name], body_of(name, method, "x"))
                assert response.status_code == 401


def test_who_gets_how_far(urls_of: Urls, okta: AtDirectory, directory: MakeDirectory) -> None:
    other = directory("Other")
    with walk() as step:
        for name, url in urls_of.items():
            for method in METHODS:
                own, others = ENDPOINTS[name].get(method, (405, 405))
                with step(method, name):
                    assert other.send(method, url, body_of(name, method, "other")).status_code == others
                    assert okta.send(method, url, body_of(name, method, "okta")).status_code == own
