"""Tests of the document's components: no defaults, and no unused components, because generators disagree on these."""

from typing import Any

from dnspanel.api.v2.schema.components import remove_unused, settle_defaults, settle_forms
from tests.dnspanel.api.described import described


def test_a_default_is_said_in_words_and_always_answered() -> None:
    schemas: dict[str, Any] = {
        name: {"properties": {"a": {"type": "string", "default": ""}, "b": {"default": 1, "description": "It."}}}
        for name in ("ThingRequest", "Thing")
    }
    settle_defaults(schemas)
    assert schemas["ThingRequest"]["properties"] == {
        "a": {"type": "string", "description": 'Default: `""`.'},
        "b": {"description": "It. Default: `1`."},
    }
    assert "required" not in schemas["ThingRequest"]
    assert schemas["Thing"]["required"] == ["a", "b"]


def test_the_body_of_a_patch_may_match_several_forms() -> None:
    """All its members are optional. `oneOf` would refuse a body with only the members that two forms share."""
    forms = [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]
    schemas: dict[str, Any] = {
        name: {"oneOf": forms, "discriminator": {"propertyName": "kind"}} for name in ("Thing", "PatchedThingRequest")
    }
    settle_forms(schemas)
    assert schemas["PatchedThingRequest"] == {"anyOf": forms}
    assert schemas["Thing"]["discriminator"] == {"propertyName": "kind"}
    provider = described()["components"]["schemas"]["SignInProvider"]
    assert (len(provider["oneOf"]), provider["discriminator"]["propertyName"]) == (3, "kind")
    assert set(provider["discriminator"]["mapping"]) == {"oidc", "saml", "ldap"}


def test_what_no_operation_leads_to_is_removed() -> None:
    document: dict[str, Any] = {
        "paths": {"/": {"get": {"responses": {"400": {"$ref": "#/components/responses/Bad"}}}}},
        "components": {
            "responses": {"Bad": {"schema": {"$ref": "#/components/schemas/Loop"}}, "Never": {}},
            "schemas": {"Loop": {"items": {"$ref": "#/components/schemas/Loop"}}, "Alone": {}},
        },
    }
    remove_unused(document)
    assert {kind: list(each) for kind, each in document["components"].items()} == {
        "responses": ["Bad"],
        "schemas": ["Loop"],
    }


def test_the_real_document_has_no_default_in_a_schema_and_no_extension() -> None:
    """openapi-typescript treated members with a default as required. drf-spectacular leaked `x-spec-enum-id`."""
    schemas = described()["components"]["schemas"].items()
    assert [
        f"{name}.{member}"
        for name, schema in schemas
        for member, value in schema.get("properties", {}).items()
        if "default" in value
    ] == []
    assert list(extensions(described())) == []


def extensions(part: Any) -> Any:
    if isinstance(part, dict):
        yield from (name for name in part if str(name).startswith("x-"))
        for each in part.values():
            yield from extensions(each)
    elif isinstance(part, list):
        for each in part:
            yield from extensions(each)
