"""Query an LDAP server: find users by name, check passwords, and read groups.

django-auth-ldap makes the requests. Its settings come from the provider's row, and it doesn't create accounts.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import ldap
from django_auth_ldap.backend import LDAPBackend, _LDAPUser
from django_auth_ldap.config import (
    LDAPGroupType,
    LDAPSearch,
    LDAPSettings,
    MemberDNGroupType,
    NestedActiveDirectoryGroupType,
    NestedMemberDNGroupType,
)
from ldap import dn as names
from ldap.filter import escape_filter_chars

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import SignInProvider
from dnspanel.accounts.providers.ldap.connection import ANSWER_SECONDS, open_connection
from dnspanel.accounts.providers.ldap.ldap_terms import Groups, Terms
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP, Identity, identity_of
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.texts import gettext

SIGN_IN_SECONDS = 15.0  # for all requests of one sign-in
LONGEST_NAME = 254
LONGEST_PASSWORD = 1000
MOST_SUBJECTS = 100  # per request
_LONGEST_SUBJECT = 255
_MOST_GROUPS = 5_000
# The attributes that show a closed account: Active Directory's flags and expiry, 389 Directory Server's lock.
_CLOSED_BY = ("userAccountControl", "accountExpires", "nsAccountLock")
_ACCOUNT_DISABLE = 0x2  # MS-ADTS, section 2.2.16
_NEVER_EXPIRES = 0x7FFF_FFFF_FFFF_FFFF
_UNIX_EPOCH = 11_644_473_600  # seconds since 1601
_TICKS = 10_000_000  # in a second


# Other results for a refused password: an unknown name, no password, or a password that cannot be used now. The panel
# treats them alike, so that they do not reveal which names exist.
_REFUSALS = (
    *(ldap.NO_SUCH_OBJECT, ldap.INAPPROPRIATE_AUTH, ldap.CONSTRAINT_VIOLATION, ldap.UNWILLING_TO_PERFORM),
    *(ldap.INSUFFICIENT_ACCESS, ldap.INVALID_DN_SYNTAX, ldap.STRONG_AUTH_REQUIRED, ldap.REFERRAL),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A user's entry on an LDAP server."""

    dn: str
    subject: str  # the permanent attribute, as text
    attributes: Mapping[str, Sequence[Any]]

    def text(self, name: str) -> str:
        """Return the first value of the attribute, or "" if it is missing or isn't a string."""
        value = (self.attributes.get(name) or [""])[0]
        return value if isinstance(value, str) else ""


class Visit:
    """One connection to a provider's server, authenticated with the panel's own name and secret."""

    def __init__(self, provider: SignInProvider, connection: Any) -> None:
        self.terms = Terms(provider.group_claim, provider.attributes)
        self.provider = provider
        self._backend = LDAPBackend()
        self._backend.settings = _settings_of(provider, self.terms)
        self._connection = connection
        self._reader = _LDAPUser(self._backend, username="")
        self._reader._connection = connection
        self._reader._bind()

    def find_by_name(self, typed: str) -> Entry | None:
        """Return the user's entry for this name, or None if no user has it.

        Raise SignInRefused if several users have the name, or if the user's permanent attribute is unusable.
        """
        value = escape_filter_chars(typed[:LONGEST_NAME])
        found = self._search("".join(f"({each}={value})" for each in self.terms.login_attributes), most=2)
        if len(found) > 1:
            raise SignInRefused(
                "ambiguous", gettext("Several people on {name} have this name.").format(name=self.provider.name)
            )
        return found[0] if found else None

    def of_subjects(self, subjects: Iterable[str]) -> dict[str, Entry]:
        """Return the entries for these subjects, keyed by subject. Callers must pass at most MOST_SUBJECTS."""
        attribute = self.terms["subject"]
        asserted = "".join(f"({attribute}={_assertion(attribute, each)})" for each in subjects)
        return {entry.subject: entry for entry in self._search(asserted, most=MOST_SUBJECTS + 1)}

    def of_subject(self, subject: str) -> Entry | None:
        """Return the entry for this subject, or None."""
        return self.of_subjects([subject]).get(subject)

    def accepts(self, entry: Entry, password: str) -> bool:
        """Return True if the server accepts this password for the user.

        Reject an empty password, because an LDAP server would accept it (RFC 4513, section 5.1.2).
        """
        if not password or len(password) > LONGEST_PASSWORD:
            return False
        try:
            self._person(entry.dn, entry.attributes)._authenticate_user_dn(password)
        except (_LDAPUser.AuthenticationFailed, *_REFUSALS):
            return False
        finally:
            self._reader._connection_bound = False  # use the panel's own name
        return True

    def look_away(self) -> None:
        """Send dummy requests that take as long as a real user's sign-in with a wrong password.

        The requests contain only random values, which reveal nothing to the server.
        """
        self.find_by_name(secrets.token_hex(8))
        self.refuse_nobody()

    def refuse_nobody(self) -> None:
        """Check a random password for a nonexistent user. This takes as long as `accepts`."""
        self.accepts(Entry(f"cn={secrets.token_hex(8)},{self.terms['base']}", "", {}), secrets.token_hex(8))

    def identity(self, entry: Entry) -> Identity:
        """Return the user's identity, with groups as names and DNs. Raise SignInRefused for too many groups."""
        claims = {
            "sub": entry.subject,
            "email": entry.text(self.terms["mail"]),
            "preferred_username": entry.text(self.terms["username"]),
            "given_name": entry.text(self.terms["first_name"]),
            "family_name": entry.text(self.terms["last_name"]),
            "groups": sorted(self._groups(entry)),
        }
        return identity_of(claims, group_claim="groups", trusts_mail=self.provider.trusts_mail)

    def _groups(self, entry: Entry) -> set[str]:
        if self.terms["groups"] == Groups.ATTRIBUTE:
            listed = [str(each) for each in entry.attributes.get(self.terms.member_attribute, ())]
            below = names.str2dn(self.terms.group_base.lower())
            found = {each.lower(): _common_name(each) for each in listed if _is_below(each, below)}
        else:
            infos = self._person(entry.dn, entry.attributes)._get_groups()._get_group_infos()
            found = {dn: str((values.get("cn") or [""])[0]) for dn, values in infos}
        if len(found) > _MOST_GROUPS // 2:
            raise SignInRefused("groups", gettext("This person is in too many groups."))
        # A group's name must not look like the distinguished name of another group.
        called = [name for name in found.values() if "=" not in name]
        return {group for group in (*found, *called) if 0 < len(group) <= LONGEST_GROUP}

    def _search(self, alternatives: str, *, most: int) -> list[Entry]:
        attributes = [*_CLOSED_BY, *(self.terms[each] for each in ("subject", "username", "mail"))]
        attributes += filter(None, (self.terms[each] for each in ("first_name", "last_name")))
        if self.terms["groups"] == Groups.ATTRIBUTE:
            attributes.append(self.terms.member_attribute)
        search = _Search(self.terms["base"], self.terms["person_filter"], attributes, most=most)
        found = search.search_with_additional_term_string(f"(|{alternatives})").execute(self._reader.connection)
        return [Entry(dn, _subject(self.terms["subject"], values), values) for dn, values in found]

    def _person(self, dn: str, attributes: Mapping[str, Any]) -> Any:
        """Return django-auth-ldap's user object for an entry, using this connection."""
        person = _LDAPUser(self._backend, username=dn)
        person._user_dn, person._user_attrs, person._connection = dn, attributes, self._connection
        person._connection_bound = self._reader._connection_bound
        return person


@contextmanager
def visiting(provider: SignInProvider, *, seconds: float = SIGN_IN_SECONDS) -> Iterator[Visit]:
    """Connect to the provider's server for the block. Raise ProviderAway if the server fails, even inside the block."""
    connection = open_connection(provider.issuer, provider.metadata, seconds=seconds)
    try:
        try:
            visit = Visit(provider, connection)
        except (ldap.INVALID_CREDENTIALS, ldap.INAPPROPRIATE_AUTH, ldap.INVALID_DN_SYNTAX) as exc:
            raise ProviderAway(
                gettext("{name} rejected the panel’s bind DN or password.").format(name=provider.name)
            ) from exc
        yield visit
    except ldap.REFERRAL as exc:
        raise ProviderAway(
            gettext("{name} referred the panel to another server, but the panel doesn’t follow referrals.").format(
                name=provider.name
            )
        ) from exc
    except ldap.NO_SUCH_OBJECT as exc:
        raise ProviderAway(gettext("The search base doesn’t exist on {name}.").format(name=provider.name)) from exc
    except ldap.FILTER_ERROR as exc:
        raise ProviderAway(gettext("The search filter for {name} isn’t valid.").format(name=provider.name)) from exc
    except ldap.LDAPError as exc:
        raise ProviderAway(
            gettext("{name} didn’t respond or sent an unexpected response.").format(name=provider.name)
        ) from exc
    finally:
        _end(connection)


def is_closed(entry: Entry, now: datetime) -> bool:
    """Return True if the server marks the account as disabled, locked by an administrator, or expired."""
    flags, expires = _number(entry.text("userAccountControl")), _number(entry.text("accountExpires"))
    has_expired = 0 < expires < _NEVER_EXPIRES and expires / _TICKS - _UNIX_EPOCH <= now.timestamp()
    return bool(flags & _ACCOUNT_DISABLE) or has_expired or entry.text("nsAccountLock").lower() == "true"


class _Search(LDAPSearch):  # type: ignore[misc]  # untyped
    """An LDAPSearch with limited results and a literal filter, because names can contain a percent sign."""

    def __init__(self, base: str, filterstr: str, attributes: Sequence[str], *, most: int = _MOST_GROUPS // 2) -> None:
        super().__init__(base, ldap.SCOPE_SUBTREE, filterstr, list(attributes))
        self.most = most

    def search_with_additional_terms(
        self,
        term_dict: Mapping[str, str],
        escape: bool = True,  # noqa: FBT001, FBT002  # the library's signature
    ) -> "_Search":
        terms = (f"({name}={escape_filter_chars(value)})" for name, value in term_dict.items())
        return self.search_with_additional_term_string("".join(terms))

    def search_with_additional_term_string(self, filterstr: str) -> "_Search":
        return _Search(self.base_dn, f"(&{self.filterstr}{filterstr})", self.attrlist, most=self.most)

    def execute(
        self,
        connection: Any,
        filterargs: Any = (),
        escape: bool = True,  # noqa: FBT001, FBT002  # the library's signature
    ) -> list[Any]:
        try:
            found = connection.search_ext_s(
                self.base_dn, self.scope, self.filterstr, self.attrlist, timeout=ANSWER_SECONDS, sizelimit=self.most
            )
        except ldap.SIZELIMIT_EXCEEDED as exc:
            raise SignInRefused("too-many", gettext("The search matched too many people or groups.")) from exc
        return list(self._process_results(found))


def _settings_of(provider: SignInProvider, terms: Terms) -> LDAPSettings:
    kinds: dict[str, LDAPGroupType] = {
        Groups.SEARCH: MemberDNGroupType(terms.member_attribute),
        Groups.NESTED: NestedMemberDNGroupType(terms.member_attribute),
        Groups.ACTIVE_DIRECTORY: NestedActiveDirectoryGroupType(),
    }
    settings = LDAPSettings("NO_SETTINGS_OF_THE_ENVIRONMENT_")
    settings.BIND_DN = provider.client_id
    settings.BIND_PASSWORD = decrypt_secret(provider.client_secret).decode() if provider.client_secret else ""
    settings.GROUP_SEARCH = _Search(terms.group_base, terms["group_filter"], ["cn"])
    settings.GROUP_TYPE = kinds.get(terms["groups"])
    return settings


def _subject(attribute: str, values: Mapping[str, Sequence[Any]]) -> str:
    """Return the user's permanent attribute as a string. Raise SignInRefused if it is missing or unusable."""
    found = values.get(attribute) or [""]
    value = found[0]
    if attribute.lower() == "objectguid":
        raw = value.encode() if isinstance(value, str) else value  # some are valid UTF-8 by chance
        if len(raw) == 16:
            return str(UUID(bytes_le=raw))
    elif isinstance(value, str) and 0 < len(value) <= _LONGEST_SUBJECT and value.isprintable() and len(found) == 1:
        return value
    raise SignInRefused(
        "subject",
        gettext(
            "The person’s {attribute} attribute is missing or isn’t valid. The panel needs it to identify the person."
        ).format(attribute=attribute),
    )


def _assertion(attribute: str, subject: str) -> str:
    """Return the subject, escaped for use in an LDAP filter."""
    if attribute.lower() == "objectguid":
        return "".join(f"\\{each:02x}" for each in UUID(subject).bytes_le)
    return str(escape_filter_chars(subject))


def _common_name(dn: str) -> str:
    """Return the common name (cn) if it is the first part of a distinguished name. Otherwise, return ""."""
    first = names.str2dn(dn)[0]
    return next((value for kind, value, _ in first if kind.lower() == "cn"), "")


def _is_below(dn: str, base: Sequence[Any]) -> bool:
    if not names.is_dn(dn):
        return False
    parts = names.str2dn(dn.lower())
    return len(parts) > len(base) and parts[-len(base) :] == list(base)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _end(connection: Any) -> None:
    try:
        connection.unbind_ext_s()
    except ldap.LDAPError:
        return
