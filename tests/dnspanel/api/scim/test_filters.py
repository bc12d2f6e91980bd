"""Tests of SCIM filters and paths: the supported ones, and limited time for every text. Also `scim.faults`."""

import pytest

from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.filters import LONGEST, Path, Term, parse_filter, parse_path

UNDERSTOOD = {
    'userName eq "ada"': [Term("username", "ada")],
    'urn:ietf:params:scim:schemas:core:2.0:User:userName EQ "ada"': [Term("username", "ada")],
    'externalId eq "a\\"b and c"': [Term("externalid", 'a"b and c')],
    'emails[type eq "work"].value eq "a@x.test"': [Term("emails.type", "work"), Term("emails.value", "a@x.test")],
    'emails[type eq "work" and value eq "a@x.test"]': [Term("emails.type", "work"), Term("emails.value", "a@x.test")],
    'id eq "7" and active eq true': [Term("id", "7"), Term("active", True)],
    '  members  eq  "7"  AND displayName eq "x" ': [Term("members", "7"), Term("displayname", "x")],
}
REFUSED = (
    'userName sw "a"',
    'userName eq "a" or userName eq "b"',
    'not (userName eq "a")',
    "userName pr",
    "userName eq ada",
    'userName eq "ada',
    'userName eq ["ada"]',
    'emails[type eq "work"',
    'userName eq "a" and',
    "userName",
    "",
    " ",
    "[",
    'userName eq "a"' + ' and id eq "1"' * 8,
    "emails[" * 300,
    'x eq "' + "a" * LONGEST + '"',
    "x eq " + "[" * 1_900,
)
PATHS = {
    "active": Path("active"),
    "name.familyName": Path("name", part="familyname"),
    'emails[type eq "work"].value': Path("emails", (Term("type", "work"),), "value"),
    'members[value eq "7"]': Path("members", (Term("value", "7"),)),
    "urn:ietf:params:scim:schemas:core:2.0:User:name.givenName": Path("name", part="givenname"),
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department": Path(
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:department"
    ),
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_filters_that_directories_send_are_understood(text: str) -> None:
    assert list(parse_filter(text)) == UNDERSTOOD[text]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_other_filters_are_refused_and_never_taken_for_one_that_lets_all_through(number: int) -> None:
    with pytest.raises(ScimFault) as refusal:
        parse_filter(REFUSED[number])
    assert (refusal.value.status, refusal.value.kind) == (400, "invalidFilter")


@pytest.mark.parametrize("text", PATHS)
def test_paths_that_directories_send_are_understood(text: str) -> None:
    assert parse_path(text) == PATHS[text]


@pytest.mark.parametrize("text", ["", "a b", "emails[", 'emails[type eq "work"].', "name[]"])
def test_other_paths_are_refused(text: str) -> None:
    with pytest.raises(ScimFault) as refusal:
        parse_path(text)
    assert refusal.value.kind == "invalidPath"
