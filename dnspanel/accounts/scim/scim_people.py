"""Create, change, close and delete a directory's users. Verbs.

A directory can change the users that it created. If an administrator allows it, a directory can also take over other
users, except administrators. If a directory deletes a user, the account is closed and hidden from the directory.
History still shows the user's name.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.actors.find_people import has_username, mail_is_taken, name_is_taken
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, DirectoryFull, PersonUnknown, Taken
from dnspanel.accounts.models import Role, ScimDirectory, ScimGroup, ScimPerson, User
from dnspanel.accounts.people.people import close_account, open_account
from dnspanel.accounts.scim.gifts import give_by_groups, take_back
from dnspanel.accounts.scim.locked import locked_directory, refuse_new_address, refuse_out_of_reach
from dnspanel.accounts.texts.canonical import canonical_mail, canonical_username
from dnspanel.texts import gettext

MOST_PEOPLE = 10_000
MOST_CLOSED = 50
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PersonTerms:
    """A user as described by the directory."""

    username: str
    email: str
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    external_id: str = ""
    active: bool = True


def people_of(directory: ScimDirectory) -> "QuerySet[User]":
    """Return a query for the accounts visible to the directory. `scim_person` is set only for managed users."""
    own = Q(scim_person__directory=directory, scim_person__deleted_at=None)
    if directory.takes_over:
        own |= Q(scim_person=None, is_service=False) & ~Q(role=Role.ADMINISTRATOR)
    return User.objects.filter(own).select_related("scim_person")


def person_of(directory: ScimDirectory, pk: int) -> User:
    """Return the account with this id. Raise PersonUnknown if it isn't visible to the directory."""
    user = people_of(directory).filter(pk=pk).first() if 0 < pk <= _LARGEST_ID else None
    if user is None:
        raise PersonUnknown
    return user


def people_count(directory: ScimDirectory) -> int:
    """Count the users that the directory currently manages."""
    return ScimPerson.objects.filter(directory=directory, deleted_at=None).count()


def closed_people(directory: ScimDirectory) -> list[ScimPerson]:
    """Return the directory's users with closed accounts, most recently changed first, at most MOST_CLOSED.

    This includes users that the directory has deleted. The tokens and zones of these users may need a new owner.
    """
    closed = ScimPerson.objects.filter(directory=directory, user__is_active=False).select_related("user")
    return list(closed.order_by("-changed_at", "-pk")[:MOST_CLOSED])


def create_person(*, directory: ScimDirectory, terms: PersonTerms, by: Author, now: datetime) -> User:
    """Create an account without a password, or reopen an account that the directory deleted before.

    Raise AccountRefused for invalid values, Taken for a name or address in use, DirectoryFull, or DirectoryUnknown if
    the directory was deleted. Reopening also raises the errors of `change_person`.
    """
    try:
        with transaction.atomic(durable=True):
            row = locked_directory(directory)
            person = _deleted_before(row, terms) or _create_person(row, terms, by, now)
            _change(row, person, terms, by, now)
            give_by_groups(directory=row, people=[person], by=by, now=now)
    except IntegrityError as exc:  # another request took the name after the check
        raise Taken(gettext("Someone else has just taken this name or email address.")) from exc
    return person_of(directory, person.user_id)


def change_person(
    *, directory: ScimDirectory, pk: int, change: Callable[[User], PersonTerms], by: Author, now: datetime
) -> User:
    """Change a user to the values that `change` returns. The directory is locked until the commit.

    If the user becomes inactive, the account is closed. Its sessions, tokens, keys and invitations end. Raise the
    errors of `create_person`, `person_of`, `change`, `close_account`, `refuse_out_of_reach` and `refuse_new_address`.
    """
    try:
        with transaction.atomic(durable=True):
            row = locked_directory(directory)
            user = person_of(row, pk)
            terms = change(user)
            _change(row, _get_or_create_rows(row, [user], by, now)[0], terms, by, now)
    except IntegrityError as exc:
        raise Taken(gettext("This user name or email address is already used by another person.")) from exc
    return person_of(directory, pk)


def delete_person(
    *, directory: ScimDirectory, pk: int, check: Callable[[User], None], by: Author, now: datetime
) -> None:
    """Close the account, remove the user from all groups, and hide the user from the directory.

    Take back the roles and teams that groups gave the user. `check` can raise an error to prevent the deletion. Raise
    the errors of `locked_directory`, `person_of`, `refuse_out_of_reach` and `close_account`.
    """
    with transaction.atomic(durable=True):
        row = locked_directory(directory)
        user = person_of(row, pk)
        check(user)
        (person,) = _get_or_create_rows(row, [user], by, now)
        refuse_out_of_reach(person)
        close_account(user=user, by=by, now=now, directory=row.name)
        ScimGroup.people.through.objects.filter(scimperson=person).delete()
        take_back([person], source={"directory": row.name}, by=by, now=now)
        ScimPerson.objects.filter(pk=person.pk).update(deleted_at=now, changed_at=now)
        audit.record(action="scim.forget", by=by, now=now, target=user.username, directory=row.name)


def kept_people(*, directory: ScimDirectory, ids: Collection[int], by: Author, now: datetime) -> list[ScimPerson]:
    """Return the directory's users with these ids. Take over accounts that the directory doesn't manage yet.

    Raise PersonUnknown for an unknown id, and DirectoryFull if the limit is exceeded. The caller opens the transaction
    and locks the directory.
    """
    users = list(people_of(directory).filter(pk__in=[pk for pk in ids if 0 < pk <= _LARGEST_ID]).order_by("pk"))
    if len(users) != len(set(ids)):
        raise PersonUnknown
    return _get_or_create_rows(directory, users, by, now)


def _get_or_create_rows(directory: ScimDirectory, users: Sequence[User], by: Author, now: datetime) -> list[ScimPerson]:
    """Return these users' ScimPerson rows, creating missing ones. Raise DirectoryFull if the limit is exceeded."""
    new = [user for user in users if getattr(user, "scim_person", None) is None]
    if new:
        if people_count(directory) + len(new) > MOST_PEOPLE:
            raise DirectoryFull(MOST_PEOPLE, "people")
        rows = [ScimPerson(directory=directory, user=user, changed_at=now) for user in new]
        ScimPerson.objects.bulk_create(rows)
        entries = [(user.username, {"directory": directory.name}) for user in new]
        audit.record_all(action="scim.take-over", by=by, now=now, entries=entries)
    for user in users:
        user.scim_person.user = user
    return [user.scim_person for user in users]


def _deleted_before(directory: ScimDirectory, terms: PersonTerms) -> ScimPerson | None:
    found = ScimPerson.objects.filter(has_username(terms.username, "user__"), directory=directory)
    return found.exclude(deleted_at=None).select_related("user").first()


def _create_person(directory: ScimDirectory, terms: PersonTerms, by: Author, now: datetime) -> ScimPerson:
    if people_count(directory) >= MOST_PEOPLE:
        raise DirectoryFull(MOST_PEOPLE, "people")
    user = User(username=terms.username, email=terms.email, role=Role.MEMBER, date_joined=now)
    _refuse(user, terms)
    user.set_unusable_password()
    user.save(force_insert=True)
    audit.record(action="person.join", by=by, now=now, target=user.username, role=user.role, directory=directory.name)
    return ScimPerson.objects.create(directory=directory, user=user, changed_at=now)


def _change(directory: ScimDirectory, person: ScimPerson, terms: PersonTerms, by: Author, now: datetime) -> None:
    """Apply these values to the user, and open or close the account if necessary, inside the caller's transaction.

    Raise AccountRefused, Taken, OutOfReach or AddressKept if a value is rejected, and the errors of `close_account`.
    """
    user = person.user
    _refuse(user, terms)
    columns = {name: getattr(terms, name) for name in ("username", "email", "first_name", "last_name")}
    changed = {name: value for name, value in columns.items() if getattr(user, name) != value}
    mine = {name: getattr(terms, name) for name in ("external_id", "display_name")}
    is_other = changed or terms.active != user.is_active or any(getattr(person, name) != mine[name] for name in mine)
    if not is_other and person.deleted_at is None:
        return
    refuse_out_of_reach(person)
    if "email" in changed and canonical_mail(terms.email) != canonical_mail(user.email or ""):
        refuse_new_address(person)
    ScimPerson.objects.filter(pk=person.pk).update(**mine, changed_at=now, deleted_at=None)
    if changed:
        if "username" in changed:
            changed["name_key"] = canonical_username(terms.username)
        if "email" in changed:
            changed["mail_key"] = canonical_mail(terms.email)
        before = {name: getattr(user, name) for name in columns if name in changed}
        User.objects.filter(pk=user.pk).update(**changed)
        audit.record(
            action="person.change", by=by, now=now, target=terms.username, directory=directory.name,
            before=before, after={name: changed[name] for name in before},
        )  # fmt: skip
    if terms.active and not user.is_active:
        open_account(user=user, by=by, now=now, directory=directory.name)
    elif not terms.active and user.is_active:
        close_account(user=user, by=by, now=now, directory=directory.name)
    user.refresh_from_db()


def _refuse(user: User, terms: PersonTerms) -> None:
    """Raise AccountRefused if a value is invalid, or Taken if another account has the name or email address."""
    checked = User(username=terms.username, email=terms.email, first_name=terms.first_name, last_name=terms.last_name)
    # An unchanged value without a canonical spelling is allowed.
    kept = {name for name in ("username", "email") if user.pk and getattr(user, name) == getattr(terms, name)}
    try:
        checked.full_clean(exclude={"password"}, validate_unique=False, validate_constraints=False)
    except ValidationError as exc:
        if faults := {name: messages for name, messages in exc.message_dict.items() if name not in kept}:
            raise AccountRefused(faults) from exc
    if "username" not in kept and name_is_taken(terms.username, but=user.pk or 0):
        raise Taken(gettext("This user name is already used by another person."))
    if "email" not in kept and mail_is_taken(terms.email, but=user.pk or 0):
        raise Taken(gettext("This email address is already used by another person."))
