"""Manage custom roles, which administrators define as permissions and rights over all zones. Verbs.

A user who manages accounts can give any role. Custom roles therefore can't include the permission to manage accounts:
only administrators have this permission.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Grant, Permission, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import RoleRefused, RoleUnknown
from dnspanel.accounts.models import OwnRole, Role, User
from dnspanel.accounts.rights.grant_edit import refuse_more_permissions, refuse_more_than_own
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext, ngettext

LONGEST_NAME = 40
MOST_ROLES = 100
# Anyone who sees zones can give a token the permission to approve, regardless of their role.
GIVEABLE = frozenset(Permission) - {Permission.PEOPLE, Permission.APPROVE}


def role_by_id(pk: int) -> OwnRole:
    """Return the custom role with this id. Raise RoleUnknown if it doesn't exist."""
    return first_or(OwnRole.objects.filter(pk=pk), RoleUnknown)


def create_role(
    *, name: str, permissions: Collection[str], rights: Collection[str], by: Author, now: datetime
) -> OwnRole:
    """Create a custom role. Raise RoleRefused if it is invalid, and GrantRefused if it exceeds the author's rights."""
    columns = _columns(name, permissions, rights, by)
    with _one_of_a_name(name), transaction.atomic():
        if OwnRole.objects.count() >= MOST_ROLES:
            raise RoleRefused({"name": [gettext("The maximum is {most_roles} roles.").format(most_roles=MOST_ROLES)]})
        role = OwnRole.objects.create(**columns, created_at=now)
        audit.record(action="role.create", by=by, now=now, target=role.name, role=role.pk, **_powers(role))
    return role


def change_role(
    *, role: OwnRole, name: str, permissions: Collection[str], rights: Collection[str], by: Author, now: datetime
) -> None:
    """Change a custom role for all its users. Raise RoleUnknown if it was deleted, and the errors of `create_role`."""
    columns = _columns(name, permissions, rights, by)
    with _one_of_a_name(name), transaction.atomic():
        locked = _lock_role(role)
        before = {"name": locked.name, **_powers(locked)}
        for column, value in columns.items():
            setattr(locked, column, value)
            setattr(role, column, value)
        after = {"name": locked.name, **_powers(locked)}
        if after != before:
            locked.save()
            audit.record(
                action="role.change", by=by, now=now, target=role.name, role=role.pk, before=before, after=after
            )


def delete_role(*, role: OwnRole, by: Author, now: datetime) -> None:
    """Delete a custom role. Raise RoleRefused if a user has the role, and RoleUnknown if it was already deleted."""
    with transaction.atomic():
        locked = _lock_role(role)
        if count := User.objects.filter(own_role=role).count():
            raise RoleRefused(
                {
                    "name": [
                        ngettext("{count} account has this role.", "{count} accounts have this role.", count).format(
                            count=count
                        )
                    ]
                }
            )
        OwnRole.objects.filter(pk=role.pk).delete()
        audit.record(action="role.delete", by=by, now=now, target=locked.name, role=role.pk, **_powers(locked))


def refuse_to_give(by: Author, role: OwnRole) -> None:
    """Raise GrantRefused if the custom role has more rights than the actor who gives it."""
    refuse_more_permissions(by, frozenset(map(Permission, role.permissions)))
    if role.rights:
        refuse_more_than_own(by, Grant(frozenset(map(Right, role.rights)), everywhere=True))


def _columns(name: str, permissions: Collection[str], rights: Collection[str], by: Author) -> dict[str, object]:
    name = " ".join(name.split())
    faults: dict[str, list[str]] = {}
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        faults["name"] = [gettext("Enter 1 to {longest_name} printable characters.").format(longest_name=LONGEST_NAME)]
    elif name.lower() in {str(label).lower() for label in Role.labels}:
        faults["name"] = [name_taken(gettext("A built-in role already has this name."))]
    if unknown := set(permissions) - GIVEABLE:
        faults["permissions"] = [
            gettext("{permission} isn’t a valid permission for a role.").format(permission=each)
            for each in sorted(unknown)
        ]
    if unknown := set(rights) - set(Right):
        faults["rights"] = [gettext("{right} isn’t a valid right.").format(right=each) for each in sorted(unknown)]
    if not permissions and not rights:
        faults["rights"] = [gettext("Select at least one right.")]
    if faults:
        raise RoleRefused(faults)
    role = OwnRole(name=name, permissions=sorted(set(permissions)), rights=sorted(set(rights)))
    refuse_to_give(by, role)
    return {"name": role.name, "permissions": role.permissions, "rights": role.rights}


@contextmanager
def _one_of_a_name(name: str) -> Iterator[None]:
    try:
        yield
    except IntegrityError as exc:
        raise RoleRefused(
            {"name": [name_taken(gettext("A role named {name} already exists.").format(name=name))]}
        ) from exc


def _powers(role: OwnRole) -> dict[str, list[str]]:
    return {"permissions": role.permissions, "rights": role.rights}


def _lock_role(role: OwnRole) -> OwnRole:
    return first_or(OwnRole.objects.select_for_update().filter(pk=role.pk), RoleUnknown)
