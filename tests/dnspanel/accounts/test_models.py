"""Tests of database constraints on accounts."""

import pytest
from django.db import IntegrityError, transaction

from dnspanel.accounts.models import Role, User
from tests.people import make_person


def test_two_people_cannot_share_an_address(alice: User) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username="other", email=alice.email, role=Role.READER)


def test_an_unknown_role_cannot_be_stored(db: None) -> None:
    with pytest.raises(IntegrityError, match="user_role_known"), transaction.atomic():
        make_person("emil", "emperor")
