"""The people in the tests: Alice is an administrator, Bob edits, Charlie reads, and Dora is a stranger."""

from datetime import UTC, datetime
from functools import cache

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.models import Role, User

PASSWORD = "correct horse battery staple"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_person(name: str, role: str) -> User:
    """Create a person with this role who can sign in with PASSWORD."""
    user = User(username=name, email=f"{name}@people.test", role=role, date_joined=NOW, password=_hash())
    user.save()
    return user


@cache
def _hash() -> str:
    """Return the hash of PASSWORD. It is computed only once for all tests, because hashing is slow by design."""
    return make_password(PASSWORD)


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice", Role.ADMINISTRATOR)


@pytest.fixture
def bob(db: None) -> User:
    return make_person("bob", Role.EDITOR)


@pytest.fixture
def charlie(db: None) -> User:
    return make_person("charlie", Role.READER)


@pytest.fixture
def dora() -> AnonymousUser:
    """Return a visitor without a session."""
    return AnonymousUser()
