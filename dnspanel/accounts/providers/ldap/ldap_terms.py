"""Check an LDAP server's search settings: the bases, filters and attributes for users and groups. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum

from ldap import dn as names

from dnspanel.texts import gettext


class Groups(StrEnum):
    """The ways in which an LDAP server stores group membership."""

    ATTRIBUTE = "attribute"  # an attribute of the person lists them, such as memberOf
    SEARCH = "search"  # an attribute of the group lists its members
    NESTED = "nested"  # the same, and groups can be members of groups
    ACTIVE_DIRECTORY = "active-directory"  # the same, with Active Directory's own recursive search


# The keys of `SignInProvider.attributes`, with the values for OpenLDAP's usual schema.
SEARCHES = {
    "base": "",
    "person_filter": "(objectClass=person)",
    "login": "uid, mail",
    "groups": Groups.SEARCH.value,
    "group_base": "",  # empty: the same as for people
    "group_filter": "(objectClass=groupOfNames)",
}
ATTRIBUTES = {
    "subject": "entryUUID",
    "username": "uid",
    "mail": "mail",
    "first_name": "givenName",
    "last_name": "sn",
}
DEFAULTS = SEARCHES | ATTRIBUTES
DEFAULT_MEMBERS = "member"
LONGEST_DN = 255
LONGEST_FILTER = 500
_DEEPEST_FILTER = 20
_MOST_LOGIN_ATTRIBUTES = 5
LONGEST_ATTRIBUTE = 100


@dataclass(frozen=True, slots=True)
class Terms:
    """The search settings of an LDAP server.

    `member_attribute` is `SignInProvider.group_claim`: the attribute that lists groups or members. `values` are
    `SignInProvider.attributes`.
    """

    member_attribute: str = DEFAULT_MEMBERS
    values: dict[str, str] = field(default_factory=DEFAULTS.copy)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, DEFAULTS[name])

    @property
    def login_attributes(self) -> list[str]:
        return self["login"].replace(",", " ").split()

    @property
    def group_base(self) -> str:
        return self["group_base"] or self["base"]


def faults_of(terms: Terms) -> dict[str, list[str]]:
    """Return the errors in the settings, keyed by field."""
    return _faults_of_search(terms) | _faults_of_person(terms) | _faults_of_groups(terms)


def _faults_of_search(terms: Terms) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    for name in ("base", "group_base"):
        if not is_dn(terms[name], may_be_empty=name == "group_base"):
            message = gettext(
                "Enter a distinguished name of at most {longest_dn} characters, such as dc=example,dc=net."
            )
            faults[name] = [message.format(longest_dn=LONGEST_DN)]
    for name in ("person_filter", "group_filter"):
        if not is_filter(terms[name]):
            message = gettext("Enter a filter in parentheses (RFC 4515) of at most {longest_filter} characters.")
            faults[name] = [message.format(longest_filter=LONGEST_FILTER)]
    return faults


def _faults_of_person(terms: Terms) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    for name in ("subject", "username", "mail"):
        if not is_attribute(terms[name]):
            faults[name] = [gettext("Enter an attribute name.")]
    for name in ("first_name", "last_name"):
        if terms[name] and not is_attribute(terms[name]):
            faults[name] = [gettext("Enter an attribute name, or leave this field empty.")]
    login = terms.login_attributes
    if not 1 <= len(login) <= _MOST_LOGIN_ATTRIBUTES or not all(map(is_attribute, login)):
        message = gettext("Enter 1 to {most_attributes} attribute names, separated by commas.")
        faults["login"] = [message.format(most_attributes=_MOST_LOGIN_ATTRIBUTES)]
    return faults


def _faults_of_groups(terms: Terms) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    if terms["groups"] not in list(Groups):
        faults["groups"] = [gettext("Choose a group membership type.")]
    if not is_attribute(terms.member_attribute):
        faults["group_claim"] = [gettext("Enter an attribute name.")]
    return faults


def is_attribute(text: str) -> bool:
    """Return True if this is an attribute name without options (RFC 4512, section 2.5)."""
    letters = text.replace("-", "").replace(".", "")
    return len(text) <= LONGEST_ATTRIBUTE and letters.isascii() and letters.isalnum() and text[:1].isalnum()


def is_dn(text: str, *, may_be_empty: bool = False) -> bool:
    """Return True if this is a distinguished name (RFC 4514). The result for "" is `may_be_empty`."""
    if not text:
        return may_be_empty
    return len(text) <= LONGEST_DN and text.isprintable() and names.is_dn(text)


def is_filter(text: str) -> bool:
    """Return True if this looks like one filter with balanced parentheses. The server checks the rest."""
    if len(text) > LONGEST_FILTER or not text.isprintable():
        return False
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not 0 <= depth <= _DEEPEST_FILTER or (depth == 0 and index != len(text) - 1):
            return False
    return depth == 0 and text.startswith("(")
