"""One write of a directory after the other, and whom a directory may change at all."""

from dnspanel.accounts.errors import DirectoryUnknown, OutOfReach
from dnspanel.accounts.models import Role, ScimDirectory, ScimPerson


def locked_directory(directory: ScimDirectory) -> ScimDirectory:
    """The directory as it is now; its other writes wait until the transaction ends. Raises DirectoryUnknown."""
    row = ScimDirectory.objects.select_for_update(of=("self",)).filter(pk=directory.pk).first()
    if row is None:
        raise DirectoryUnknown
    return row


def refuse_out_of_reach(person: ScimPerson) -> None:
    """Raise OutOfReach for an administrator whom the directory's rules did not make one: nobody acts above themself."""
    if person.user.role == Role.ADMINISTRATOR and person.given.get("role") is None:
        raise OutOfReach(person.user.username)
