"""Tests of SCIM request bodies, in the forms that Entra and Okta document."""

from typing import Any

import pytest

from dnspanel.accounts.scim.scim_groups import GroupTerms
from dnspanel.accounts.scim.scim_people import PersonTerms
from dnspanel.api.scim.changes import (
    MOST_OPERATIONS,
    PATCH,
    group_in,
    operations_in,
    patched_group,
    patched_person,
    person_in,
)
from dnspanel.api.scim.faults import ScimFault

ADA = PersonTerms("ada", "ada@x.test", "Ada", "L", "Ada L", "e1")
# Microsoft's "Develop a SCIM endpoint" and Okta's "SCIM 2.0" reference.
PERSON_PATCHES: tuple[tuple[str, list[Any], dict[str, Any]], ...] = (
    ("entra-disable", [{"op": "Replace", "path": "active", "value": "False"}], {"active": False}),
    ("entra-disable-boolean", [{"op": "Replace", "path": "active", "value": False}], {"active": False}),
    ("okta-disable", [{"op": "replace", "value": {"active": False}}], {"active": False}),
    (
        "entra-several",
        [
            {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "Updated@x.test"},
            {"op": "Replace", "path": "name.familyName", "value": "Updated"},
        ],
        {"email": "updated@x.test", "last_name": "Updated"},
    ),
    (
        "entra-without-path",
        [{"op": "Add", "value": {"displayName": "A", "name.givenName": "B", "name.familyName": "C"}}],
        {"display_name": "A", "first_name": "B", "last_name": "C"},
    ),
    (
        "entra-rename",
        [{"op": "Replace", "path": "userName", "value": "lovelace@x.test"}],
        {"username": "lovelace@x.test"},
    ),
    (
        "entra-what-is-not-kept",
        [
            {
                "op": "Add",
                "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
                "value": "x",
            },
            {"op": "Add", "path": "title", "value": "x"},
            {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "1"},
            {"op": "Add", "path": 'emails[type eq "home"].value', "value": "home@x.test"},
        ],
        {},
    ),
    (
        "rfc-primary",
        [{"op": "add", "path": "emails", "value": [{"value": "a@x.test"}, {"value": "b@x.test", "primary": True}]}],
        {"email": "b@x.test"},
    ),
    ("rfc-remove", [{"op": "remove", "path": "name"}], {"first_name": "", "last_name": ""}),
    ("rfc-remove-text", [{"op": "remove", "path": "externalId"}], {"external_id": ""}),
)
PERSON_FAULTS: tuple[tuple[str, list[Any], str], ...] = (
    ("read-only", [{"op": "replace", "path": "id", "value": "9"}], "mutability"),
    ("groups", [{"op": "add", "path": "groups", "value": [{"value": "1"}]}], "mutability"),
    ("no-target", [{"op": "remove"}], "noTarget"),
    ("no-op", [{"op": "move", "path": "active"}], "invalidSyntax"),
    ("no-value", [{"op": "add", "path": "active"}], "invalidValue"),
    ("no-attribute", [{"op": "add", "path": "shoeSize", "value": "44"}], "invalidPath"),
    ("truth", [{"op": "replace", "path": "active", "value": "perhaps"}], "invalidValue"),
    ("no-name", [{"op": "replace", "path": "userName", "value": ""}], "invalidValue"),
    ("no-mail", [{"op": "remove", "path": "emails"}], "invalidValue"),
    ("text", [{"op": "replace", "path": "displayName", "value": {"a": 1}}], "invalidValue"),
    ("long", [{"op": "replace", "path": "displayName", "value": "x" * 256}], "invalidValue"),
    ("nothing", [], "invalidSyntax"),
    ("many", [{"op": "replace", "path": "active", "value": True}] * (MOST_OPERATIONS + 1), "tooMany"),
)
GROUP_PATCHES: tuple[tuple[str, list[Any], set[int]], ...] = (
    ("okta-add", [{"op": "add", "path": "members", "value": [{"value": "3", "display": "x"}]}], {1, 2, 3}),
    ("okta-replace", [{"op": "replace", "path": "members", "value": [{"value": "3"}]}], {3}),
    ("okta-remove", [{"op": "remove", "path": 'members[value eq "1"]'}], {2}),
    ("entra-add", [{"op": "Add", "path": "members", "value": [{"$ref": None, "value": "3"}]}], {1, 2, 3}),
    ("entra-remove", [{"op": "Remove", "path": "members", "value": [{"value": "1"}]}], {2}),
    ("rfc-remove-all", [{"op": "remove", "path": "members"}], set()),
    ("without-path", [{"op": "replace", "value": {"members": []}}], set()),
)


NOT_KEPT = {
    "department": "IT",
    "shoeSize": 44,
    "name": {"nickOfBirth": "x"},
    "displayName.short": "x",
    "x-own": {"a": [1, {"b": None}]},
    "urn:example:own": {"c": 1},
    "favourite colour": "blue",
    "$ref": "x",
    "": None,
    "a[b": [],
    "x" * 5_000: 1,
}


def test_attributes_that_nothing_here_knows_are_passed_over_in_whole_bodies() -> None:
    """docs/operate/scim.md promises to ignore unknown attributes, and RFC 7644 section 3.3 allows it."""
    person = {"userName": "ann@x.test", "emails": [{"value": "ann@x.test", "primary": True}]}
    assert person_in(NOT_KEPT | person) == person_in(person)
    assert person_in(NOT_KEPT | person, ADA) == person_in(person, ADA)
    group = {"displayName": "Ops", "members": [{"value": "1"}]}
    assert group_in(group | NOT_KEPT | {"displayName": "Ops"}) == group_in(group)
    complete = operations_in(body([{"op": "replace", "value": NOT_KEPT}]))
    assert patched_person(ADA, complete) == ADA
    assert patched_group(GroupTerms("Ops"), complete) == GroupTerms("Ops")


def body(operations: list[Any]) -> Any:
    return {"schemas": [PATCH], "Operations": operations}


@pytest.mark.parametrize("name", [name for name, *_ in PERSON_PATCHES])
def test_a_person_is_patched_as_directories_do_it(name: str) -> None:
    operations, changed = next((each[1], each[2]) for each in PERSON_PATCHES if each[0] == name)
    after = patched_person(ADA, operations_in(body(operations)))
    assert {field: getattr(after, field) for field in changed} == changed
    untouched = {field for field in PersonTerms.__dataclass_fields__ if field not in changed}
    assert all(getattr(after, field) == getattr(ADA, field) for field in untouched)


@pytest.mark.parametrize("name", [name for name, *_ in PERSON_FAULTS])
def test_a_patch_that_cannot_be_done_says_why(name: str) -> None:
    operations, kind = next((each[1], each[2]) for each in PERSON_FAULTS if each[0] == name)
    with pytest.raises(ScimFault) as refusal:
        patched_person(ADA, operations_in(body(operations)))
    assert refusal.value.kind == kind


@pytest.mark.parametrize("name", [name for name, *_ in GROUP_PATCHES])
def test_members_are_patched_as_directories_do_it(name: str) -> None:
    operations, members = next((each[1], each[2]) for each in GROUP_PATCHES if each[0] == name)
    after = patched_group(GroupTerms("web", members=frozenset({1, 2})), operations_in(body(operations)))
    assert after == GroupTerms("web", members=frozenset(members))


def test_a_group_is_renamed_with_its_id_in_the_value() -> None:
    operations = operations_in(body([{"op": "replace", "value": {"id": "7", "displayName": "ops"}}]))
    assert patched_group(GroupTerms("web"), operations).name == "ops"


@pytest.mark.parametrize("value", ["x", 7, None, "1" * 19, "-1"])
def test_a_member_is_the_id_of_a_person(value: Any) -> None:
    with pytest.raises(ScimFault, match="id of a person"):
        group_in({"displayName": "web", "members": [{"value": value}]})


def test_a_user_name_that_is_an_address_is_the_mail_address() -> None:
    assert person_in({"userName": "Ada@X.test", "password": "never kept"}).email == "ada@x.test"
    with pytest.raises(ScimFault, match="emails is required"):
        person_in({"userName": "ada"})
    with pytest.raises(ScimFault, match="userName is required"):
        person_in({"emails": [{"value": "ada@x.test"}]})


def test_who_is_said_anew_without_active_stays_what_they_are() -> None:
    closed = PersonTerms("ada", "ada@x.test", active=False)
    assert not person_in({"USERNAME": "ada", "emails": [{"value": "ada@x.test"}], "id": "1"}, closed).active


@pytest.mark.parametrize("value", [[], "x", {"schemas": ["x"], "Operations": []}, {"Operations": [1]}])
def test_a_body_that_is_no_patch_is_refused(value: Any) -> None:
    with pytest.raises(ScimFault):
        operations_in(value)
