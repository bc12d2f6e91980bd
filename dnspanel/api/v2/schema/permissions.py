"""Panel-wide permissions and their names in API v2."""

from collections.abc import Iterable

from dnspanel.accounts.actors.actors import Permission

CHOICES = [(permission.name.lower(), permission.value) for permission in Permission]
_BY_NAME = {permission.name.lower(): permission for permission in Permission}


def permission_names(permissions: Iterable[Permission]) -> list[str]:
    """Return the sorted names of permissions, in the form that responses use."""
    return sorted(Permission(permission).name.lower() for permission in permissions)


def permissions_of(names: Iterable[str]) -> frozenset[Permission]:
    """Return the permissions with these names. Raise KeyError for an unknown name."""
    return frozenset(_BY_NAME[name] for name in names)
