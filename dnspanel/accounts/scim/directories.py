"""Add, change and delete external directories that manage users and groups, and renew their secrets. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Count, Q

from dnspanel.accounts.actors.actors import Actor, Author
from dnspanel.accounts.actors.find_people import free_name
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import DirectoryRefused, DirectoryUnknown
from dnspanel.accounts.models import Role, ScimDirectory, ScimGroup, ScimPerson, Team, Token, TokenKind, User
from dnspanel.accounts.people.people import close_account, open_account
from dnspanel.accounts.people.teams import MEMBER_ROLES
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.providers.rows import faults_of_rules
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.accounts.scim.gifts import give_by_groups, take_back
from dnspanel.accounts.scim.locked import locked_directory
from dnspanel.accounts.scim.scim_groups import set_teams
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.accounts.tokens.tokens import NewToken, end_token, kept_of, new_secret
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken, not_found
from dnspanel.texts import gettext

MOST_DIRECTORIES = 10
LONGEST_NAME = 40
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DirectoryTerms:
    """The settings of a directory. `takes_over` lets it manage existing accounts, except administrators'.

    `team_role` is the members' role in teams made from groups. If it is empty, groups don't become teams.
    """

    name: str
    rules: tuple[Rule, ...] = ()
    team_role: str = ""
    teams: tuple[int, ...] = ()  # ids of existing teams that groups can use
    takes_over: bool = False


def directory_rows() -> Sequence[ScimDirectory]:
    """Return all directories, with the number of managed users in the attribute `kept`. Uses one query."""
    rows = ScimDirectory.objects.annotate(kept=Count("people", filter=Q(people__deleted_at=None)))
    return list(rows.order_by("name")[:MOST_DIRECTORIES])


def directory_by_id(pk: int) -> ScimDirectory:
    """Return the directory with this id. Raise DirectoryUnknown if it doesn't exist."""
    return first_or(ScimDirectory.objects.select_related("account").filter(pk=pk), DirectoryUnknown)


def directory_of(actor: Actor) -> ScimDirectory:
    """Return the directory of the actor's token. Raise DirectoryUnknown if the token doesn't belong to a directory."""
    return first_or(ScimDirectory.objects.filter(account=actor.user), DirectoryUnknown)


def token_of_directory(directory: ScimDirectory) -> Token | None:
    """Return the directory's current token, or None if it was revoked."""
    tokens = Token.objects.filter(owner_id=directory.account_id, kind=TokenKind.SCIM, revoked_at=None)
    return tokens.order_by("-pk").first()


def create_directory(*, terms: DirectoryTerms, by: Author, now: datetime) -> tuple[ScimDirectory, NewToken]:
    """Create a directory. Return the directory and the token with which it manages users and groups.

    Raise DirectoryRefused for invalid fields, a name in use, or more than MOST_DIRECTORIES directories. Raise
    AllRightsNeeded for a token without all rights, because the directory's operator can give any role in its rules.
    """
    require_all_rights(by)
    terms = _check_terms(terms)
    if ScimDirectory.objects.count() >= MOST_DIRECTORIES:
        raise DirectoryRefused(
            {
                "name": [
                    gettext("The maximum is {most_directories} directories.").format(most_directories=MOST_DIRECTORIES)
                ]
            }
        )
    try:
        with transaction.atomic(durable=True):
            account = User(username=_account_name(terms.name), is_service=True, role=Role.MEMBER, date_joined=now)
            account.set_unusable_password()
            account.email = None
            account.save(force_insert=True)
            directory = ScimDirectory.objects.create(account=account, created_at=now, **_columns(terms))
            audit.record(action="scim.create", by=by, now=now, target=terms.name, **_audit_values(terms))
            return directory, _new_token(directory, by, now)
    except IntegrityError as exc:
        raise DirectoryRefused({"name": [name_taken(gettext("A directory with this name already exists."))]}) from exc


def change_directory(*, directory: ScimDirectory, terms: DirectoryTerms, by: Author, now: datetime) -> None:
    """Change the directory, and apply new rules. Raise DirectoryUnknown and the errors of `create_directory`."""
    require_all_rights(by)
    terms = _check_terms(terms, frozenset(directory.teams))
    try:
        with transaction.atomic(durable=True):
            row = locked_directory(directory)
            columns = _columns(terms)
            changed = sorted(name for name, value in columns.items() if getattr(row, name) != value)
            if not changed:
                return
            ScimDirectory.objects.filter(pk=row.pk).update(**columns)
            row.refresh_from_db()
            audit.record(
                action="scim.change", by=by, now=now, target=terms.name, changed=changed, **_audit_values(terms)
            )
            if {"rules", "team_role", "teams"} & set(changed):
                set_teams(directory=row, by=by, now=now)
                kept = ScimPerson.objects.filter(directory=row, deleted_at=None).order_by("pk")
                give_by_groups(directory=row, people=list(kept.select_related("user")), by=by, now=now)
    except IntegrityError as exc:
        raise DirectoryRefused({"name": [name_taken(gettext("A directory with this name already exists."))]}) from exc


def renew_secret(*, directory: ScimDirectory, by: Author, now: datetime) -> NewToken:
    """Replace the directory's secret and return the new one. The old one stops working immediately.

    Reopen the directory's service account if it is closed. Raise DirectoryUnknown if the directory was deleted, and
    AllRightsNeeded for a token without all rights.
    """
    require_all_rights(by)
    with transaction.atomic(durable=True):
        row = locked_directory(directory)
        for token in Token.objects.filter(owner_id=row.account_id, revoked_at=None).order_by("pk"):
            end_token(token=token, by=by, now=now)
        open_account(user=row.account, by=by, now=now)
        return _new_token(row, by, now)


def delete_directory(*, directory: ScimDirectory, by: Author, now: datetime) -> None:
    """Delete the directory and its groups, revoke its token, and take back everything that its rules gave to users.

    The service account is closed. Users' accounts are kept, and administrators then manage them. Do nothing if the
    directory is already deleted. Raise AllRightsNeeded for a token without all rights.
    """
    require_all_rights(by)
    with transaction.atomic(durable=True):
        row = ScimDirectory.objects.select_for_update(of=("self",)).filter(pk=directory.pk).first()
        if row is None:
            return
        people = list(ScimPerson.objects.filter(directory=row, deleted_at=None).select_related("user").order_by("pk"))
        take_back(people, source={"directory": row.name}, by=by, now=now)
        ScimGroup.objects.filter(directory=row).delete()
        ScimDirectory.objects.filter(pk=row.pk).delete()
        audit.record(action="scim.delete", by=by, now=now, target=row.name, people=len(people))
        close_account(user=User.objects.get(pk=row.account_id), by=by, now=now, directory=row.name)


def _new_token(directory: ScimDirectory, by: Author, now: datetime) -> NewToken:
    secret = new_secret()
    token = Token.objects.create(
        kind=TokenKind.SCIM,
        owner_id=directory.account_id,
        purpose=f"SCIM: {directory.name}",
        **kept_of(secret),
        created_at=now,
    )
    audit.record(action="token.create", by=by, now=now, target=token.purpose, token=token.pk)
    return NewToken(token, secret)


def _account_name(name: str) -> str:
    """Return an unused user name for the directory's service account, derived from the directory's name."""
    plain = (character if character.isascii() and character.isalnum() else "-" for character in ascii_lower(name))
    return free_name(f"scim-{''.join(plain)}")


def _columns(terms: DirectoryTerms) -> dict[str, object]:
    return {
        "name": terms.name,
        "rules": [rule.to_json() for rule in terms.rules],
        "team_role": terms.team_role,
        "teams": list(terms.teams),
        "takes_over": terms.takes_over,
    }


def _audit_values(terms: DirectoryTerms) -> dict[str, object]:
    return {name: value for name, value in _columns(terms).items() if name != "name"}


def _check_terms(terms: DirectoryTerms, before: frozenset[int] = frozenset()) -> DirectoryTerms:
    """Return the settings with normalized spaces in the name, and without deleted teams.

    `before` are the directory's current teams. Raise DirectoryRefused if a setting is invalid.
    """
    name = " ".join(terms.name.split())
    faults: dict[str, list[str]] = {}
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        faults["name"] = [gettext("Enter 1 to {longest} printable characters.").format(longest=LONGEST_NAME)]
    if terms.team_role and terms.team_role not in MEMBER_ROLES:
        faults["team_role"] = [gettext("A team member must be an editor or a reader.")]
    if reasons := faults_of_rules(terms.rules):
        faults["rules"] = reasons
    known = set(
        Team.objects.filter(pk__in=[pk for pk in terms.teams if 0 < pk <= _LARGEST_ID]).values_list("pk", flat=True)
    )
    if unknown := set(terms.teams) - known - before:
        message = gettext("No team has the ID {pk}.")
        faults["teams"] = [not_found(message.format(pk=pk)) for pk in sorted(unknown)[:5]]
    if faults:
        raise DirectoryRefused(faults)
    return replace(terms, name=name, teams=tuple(sorted(known)))
