"""Parse SCIM bodies that describe users and groups: POST, PUT and PATCH (RFC 7644, 3.3 and 3.5). Pure.

The parser accepts the formats that directories send. Entra writes "True" and "False", `Add` and `Replace`, and
attribute names with dots in a value without a path. Okta resends all members. Attributes that aren't stored are
ignored, as section 3.3 allows, even if the schema has them. Only a PATCH operation's path must name a known attribute.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dnspanel.accounts.scim.scim_groups import GroupTerms
from dnspanel.accounts.scim.scim_people import PersonTerms
from dnspanel.accounts.texts.canonical import canonical_mail
from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.filters import Path, Term, parse_path

MOST_OPERATIONS = 1_000
LONGEST_TEXT = 255
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
_READ_ONLY = frozenset({"id", "meta", "groups"})
# Attributes of a person in RFC 7643 that aren't stored. Passwords aren't stored, because the directory would know them.
_NOT_KEPT = frozenset(
    {
        *(
            "schemas",
            "nickname",
            "profileurl",
            "title",
            "usertype",
            "preferredlanguage",
            "locale",
            "timezone",
            "password",
        ),
        *("phonenumbers", "ims", "photos", "addresses", "entitlements", "roles", "x509certificates"),
    }
)
_TEXTS = {
    ("username", ""): "username",
    ("externalid", ""): "external_id",
    ("displayname", ""): "display_name",
    ("name", "givenname"): "first_name",
    ("name", "familyname"): "last_name",
}
_NAME_PARTS_NOT_KEPT = frozenset({"formatted", "middlename", "honorificprefix", "honorificsuffix"})


@dataclass(frozen=True, slots=True)
class Operation:
    """A PATCH operation. `path` is None if the value is an object of attributes."""

    op: str  # add, replace or remove
    path: Path | None
    value: Any


def person_in(body: Any, before: PersonTerms | None = None) -> PersonTerms:
    """Parse the user in the body of a POST or PUT. Raise ScimFault if the body is invalid.

    For a PUT, `before` has the user's current attributes. If the body has no `active`, the current state is kept. If
    the user name is an email address and the body contains no other address, it also becomes the user's email address.
    """
    terms = PersonTerms("", "", active=before.active if before else True)
    for path, value in _attributes(body):
        if path.attribute not in _READ_ONLY:
            terms = _person_with(terms, path, value, must_know=False)
    if not terms.username:
        raise ScimFault(400, "userName is required.", "invalidValue")
    if not terms.email and "@" in terms.username:
        terms = replace(terms, email=_normalize_mail(terms.username))
    if not terms.email:
        raise ScimFault(400, "emails is required: a mail address that this person alone has.", "invalidValue")
    return terms


def patched_person(terms: PersonTerms, operations: Sequence[Operation]) -> PersonTerms:
    """Apply a PATCH to a user's attributes. Raise ScimFault if an operation isn't allowed or a value is invalid."""
    for path, value, op, is_named in _steps(operations):
        if path.attribute in _READ_ONLY:
            raise ScimFault(400, f"{path.attribute} is not yours to change.", "mutability")
        if op == "remove" and (path.attribute in ("username", "emails", "active")):
            raise ScimFault(400, f"An account here has {path.attribute}.", "invalidValue")
        if op == "remove" and path.attribute == "name" and not path.part:
            value = {"givenName": "", "familyName": ""}
        terms = _person_with(terms, path, None if op == "remove" and value is None else value, must_know=is_named)
    if not terms.username:
        raise ScimFault(400, "userName is required.", "invalidValue")
    return terms


def group_in(body: Any) -> GroupTerms:
    """Parse the group in the body of a POST or PUT. Raise ScimFault if it is invalid."""
    terms = GroupTerms("")
    for path, value in _attributes(body):
        if path.attribute not in _READ_ONLY:
            terms = _group_with(terms, path, value, "replace", must_know=False)
    if not terms.name:
        raise ScimFault(400, "displayName is required.", "invalidValue")
    return terms


def patched_group(terms: GroupTerms, operations: Sequence[Operation]) -> GroupTerms:
    """Apply a PATCH to a group's attributes. Raise ScimFault if an operation isn't allowed or a value is invalid."""
    for path, value, op, is_named in _steps(operations):
        # When Okta renames a group, the value also contains the id of the group.
        if path.attribute in _READ_ONLY - {"id"}:
            raise ScimFault(400, f"{path.attribute} is not yours to change.", "mutability")
        terms = _group_with(terms, path, value, op, must_know=is_named)
    if not terms.name:
        raise ScimFault(400, "displayName is required.", "invalidValue")
    return terms


def operations_in(body: Any) -> list[Operation]:
    """Parse the operations of a PATCH. Raise ScimFault if the body isn't a valid PATCH."""
    fields = {name.lower(): value for name, value in _object(body).items()}
    if fields.get("schemas") != [PATCH]:
        raise ScimFault(400, f"schemas has to be [{PATCH}].", "invalidSyntax")
    listed = fields.get("operations")
    if not isinstance(listed, list) or not listed:
        raise ScimFault(400, "Operations has to be a list of operations.", "invalidSyntax")
    if len(listed) > MOST_OPERATIONS:
        raise ScimFault(413, f"At most {MOST_OPERATIONS:,} operations.", "tooMany")
    return [_operation(each) for each in listed]


def _operation(value: Any) -> Operation:
    fields = {name.lower(): member for name, member in _object(value).items()}
    op, path = str(fields.get("op")).lower(), fields.get("path")
    if op not in ("add", "replace", "remove"):
        raise ScimFault(400, "op has to be add, replace or remove.", "invalidSyntax")
    if path is not None and not isinstance(path, str):
        raise ScimFault(400, "path has to be a text.", "invalidPath")
    if op == "remove" and not path:
        raise ScimFault(400, "To remove something, path has to say what.", "noTarget")
    if op != "remove" and "value" not in fields:
        raise ScimFault(400, f"{op} needs a value.", "invalidValue")
    return Operation(op, parse_path(path) if path else None, fields.get("value"))


def _steps(operations: Sequence[Operation]) -> Iterator[tuple[Path, Any, str, bool]]:
    """Yield each change as path, value, operation, and True if the operation itself has a path."""
    for operation in operations:
        if operation.path is not None:
            yield operation.path, operation.value, operation.op, True
        else:
            for path, value in _attributes(operation.value):
                yield path, value, operation.op, False


def _attributes(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield an object's attributes. Skip invalid SCIM names, which aren't in any schema."""
    for name, member in _object(value).items():
        try:
            path = parse_path(name)
        except ScimFault:
            continue
        yield path, member


def _person_with(terms: PersonTerms, path: Path, value: Any, *, must_know: bool) -> PersonTerms:
    """Return the attributes with this one changed. Attributes that aren't stored have no effect.

    If `must_know` is set, raise ScimFault for an unknown attribute.
    """
    attribute, part = path.attribute, path.part
    if attribute in _NOT_KEPT or attribute.startswith("urn:"):
        return terms
    if attribute == "active" and not part:
        return replace(terms, active=_truth(value))
    if attribute == "emails":
        mail = _mail(path, value)
        return terms if mail is None else replace(terms, email=mail)
    if attribute == "name" and not part:
        for name, each in _object(value or {}).items():
            terms = _person_with(terms, Path("name", part=name.lower()), each, must_know=must_know)
        return terms
    if attribute == "name" and part in _NAME_PARTS_NOT_KEPT:
        return terms
    field = _TEXTS.get((attribute, part))
    if field is None:
        if not must_know:
            return terms
        raise ScimFault(400, f"A person has no {attribute}{'.' if part else ''}{part}.", "invalidPath")
    return replace(terms, **{field: _text(value, attribute)})  # type: ignore[arg-type]  # only text fields


def _mail(path: Path, value: Any) -> str | None:
    """Return the primary email address in the value, or else the first one. Raise ScimFault if the list is empty.

    Return None if the path selects a type of address other than `work`, or a sub-attribute other than `value`.
    """
    if any(term.attribute == "type" and term.value != "work" for term in path.terms) or path.part not in ("", "value"):
        return None
    if path.part == "value":
        value = [{"value": value}]
    listed = [_object(each) for each in (value if isinstance(value, list) else [value])]
    best = next(
        (each for each in listed if each.get("primary") in (True, "True", "true")), listed[0] if listed else None
    )
    if best is None:
        raise ScimFault(400, "emails is required: a mail address that this person alone has.", "invalidValue")
    return _normalize_mail(_text(best.get("value"), "emails.value"))


def _normalize_mail(mail: str) -> str:
    """Return the email address in its canonical spelling, or unchanged if it is invalid."""
    return canonical_mail(mail) or mail


def _group_with(terms: GroupTerms, path: Path, value: Any, op: str, *, must_know: bool) -> GroupTerms:
    if path.attribute == "members":
        return replace(terms, members=_members(terms.members, path.terms, value, op))
    if path.attribute in ("id", "schemas") or path.attribute.startswith("urn:"):
        return terms
    if path.part or path.attribute not in ("displayname", "externalid"):
        if not must_know:
            return terms
        raise ScimFault(400, f"A group has no {path.attribute}.", "invalidPath")
    text = "" if op == "remove" else _text(value, path.attribute)
    if path.attribute == "displayname":
        return replace(terms, name=" ".join(text.split()))
    return replace(terms, external_id=text)


def _members(before: frozenset[int], terms: Sequence[Term], value: Any, op: str) -> frozenset[int]:
    if terms:  # members[value eq "7"]
        if op != "remove" or any(term.attribute != "value" for term in terms):
            raise ScimFault(400, "Members are chosen by value, to be removed.", "invalidPath")
        return before - {_id(term.value) for term in terms}
    listed = [] if value is None else value if isinstance(value, list) else [value]
    ids = frozenset(_id(_object(each).get("value")) for each in listed)
    if op == "remove":
        return before - ids if value is not None else frozenset()
    return before | ids if op == "add" else ids


def _id(value: Any) -> int:
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 18:
        raise ScimFault(400, "The value of a member is the id of a person.", "invalidValue")
    return int(value)


def _truth(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ScimFault(400, "active is true or false.", "invalidValue")
    return value


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value.isprintable():
        raise ScimFault(400, f"{name} is a text of at most {LONGEST_TEXT} characters.", "invalidValue")
    return value.strip()


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ScimFault(400, "An object with attributes is needed.", "invalidSyntax")
    return value
