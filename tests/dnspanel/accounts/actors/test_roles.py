"""Tests of the rights of each role."""

import pytest
from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.actors.actors import PERMISSIONS, Permission, can
from dnspanel.accounts.models import Role, User
from tests.people import make_person


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.MEMBER, set()),
        (Role.READER, {Permission.READ, Permission.FLEET, Permission.APPROVE}),
        (
            Role.EDITOR,
            {Permission.READ, Permission.FLEET, Permission.EDIT, Permission.SECRETS, Permission.APPROVE},
        ),
        (Role.ADMINISTRATOR, set(Permission)),
    ],
)
def test_each_role_includes_the_ones_below_it(role: Role, allowed: set[Permission], db: None) -> None:
    user = make_person("x", role)
    assert {permission for permission in Permission if can(user, permission)} == allowed


def test_every_role_is_decided_about() -> None:
    assert set(PERMISSIONS) == set(Role.values)


def test_nobody_without_an_active_account_may_do_anything() -> None:
    inactive = User(username="x", role=Role.ADMINISTRATOR, is_active=False)
    for person in (AnonymousUser(), inactive):
        assert not any(can(person, permission) for permission in Permission)
