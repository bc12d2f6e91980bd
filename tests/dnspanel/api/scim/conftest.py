"""Fixtures of the SCIM tests: a directory and its client."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from redis import Redis

from dnspanel.accounts.models import ScimDirectory, User
from dnspanel.accounts.scim.directories import DirectoryTerms, create_directory
from tests.dnspanel.api.callers import Api
from tests.people import NOW

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


@dataclass(frozen=True)
class AtDirectory(Api):
    """A SCIM client with the token of a directory."""

    row: ScimDirectory | None = None

    def scim(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request to a path below `/scim/v2/`."""
        return self.send(method, f"/scim/v2/{path}", body, content_type="application/scim+json", **more)

    def made(self, username: str, **fields: Any) -> Any:
        """Create a person as the directory, and return the person."""
        body = {"schemas": [USER], "userName": username, "emails": [{"value": f"{username}@people.test"}], **fields}
        response = self.scim("POST", "Users", body)
        assert response.status_code == 201, response.content
        return response.json()

    def group(self, name: str, *people: Any, **fields: Any) -> Any:
        """Create a group as the directory, and return the group."""
        members = [{"value": person["id"]} for person in people]
        body = {"schemas": [GROUP], "displayName": name, "members": members, **fields}
        response = self.scim("POST", "Groups", body)
        assert response.status_code == 201, response.content
        return response.json()

    def patch_of(self, path: str, *operations: Any, **more: Any) -> Any:
        """Send a PATCH with these operations."""
        return self.scim("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, **more)


@pytest.fixture(autouse=True)
def no_counts() -> None:
    """Delete the counters of refused requests: accounts of other tests had the same ids."""
    redis = Redis.from_url(settings.REDIS_URL)
    for key in redis.scan_iter("LIMITS*scim-refused*"):
        redis.delete(key)


MakeDirectory = Callable[..., AtDirectory]


@pytest.fixture
def directory(alice: User) -> MakeDirectory:
    """Return a function that creates a directory as Alice, and returns the directory's client."""

    def make(name: str = "Okta", **terms: Any) -> AtDirectory:
        row, new = create_directory(terms=DirectoryTerms(name, **terms), by=alice, now=NOW)
        return AtDirectory(new.secret, row=row)

    return make
