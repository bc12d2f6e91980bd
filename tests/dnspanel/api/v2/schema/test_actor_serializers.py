"""Tests of the forms of actors, zones, nodes and events, which are the same in the whole document."""

from collections.abc import Iterator
from typing import Any

from dnspanel.accounts.actors.actors import actor_form
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from tests.dnspanel.api.described import described

ACTOR = "#/components/schemas/Actor"
COLUMNS = "/components/schemas/CsvRequest"  # the columns of a CSV file, by number
# Former names of these members, which must not come back.
OTHER_NAMES = {"author", "username_of", "token_purpose", "in_hands_of", "zone_name", "webhook_id"}


def members(schema: Any, where: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the path, name and schema of each member in a schema, at any depth."""
    if isinstance(schema, dict):
        for name, member in schema.get("properties", {}).items():
            yield where, name, member
        for key, value in schema.items():
            yield from members(value, f"{where}/{key}")
    elif isinstance(schema, list):
        for number, value in enumerate(schema):
            yield from members(value, f"{where}/{number}")


def references(schema: Any) -> set[str]:
    """Return the references in a member's schema, direct or among alternatives."""
    found = {schema["$ref"]} if "$ref" in schema else set()
    for several in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(several, ()):
            found |= references(each)
    return found


def every_member() -> list[tuple[str, str, Any]]:
    document = described()
    return [*members(document, "")]


def test_who_acted_is_always_an_actor() -> None:
    """Review A8: members gave the actor as a name, as a sentence, as a token's id or as a token's purpose."""
    found = [(where, name, schema) for where, name, schema in every_member() if name == "actor" or name.endswith("_by")]
    assert len(found) > 20
    assert [(where, name) for where, name, schema in found if references(schema) != {ACTOR}] == []
    assert [(where, name) for where, name, _ in every_member() if name in OTHER_NAMES] == []


def test_a_zone_is_named_by_zone_a_node_by_node_and_an_event_by_event() -> None:
    for where, name, schema in every_member():
        if name == "zone" and where != COLUMNS:
            assert references(schema) <= {"#/components/schemas/Zone"}, where
            assert references(schema) or "string" in schema["type"], where
        if name == "event":
            assert schema.keys() & {"enum", "const"} or references(schema), where
    zones = {where: schema for where, name, schema in every_member() if name == "zones"}
    components = described()["components"]["schemas"]
    for where, schema in zones.items():
        for reference in references(schema.get("items", {})):
            of_one = components[reference.rpartition("/")[2]]["properties"]
            assert "zone" in of_one or reference.endswith(("/Zone", "/TrashedZone")), (where, reference)


def test_the_component_has_what_the_form_has() -> None:
    assert set(ActorSerializer().fields) == set(actor_form(None))
