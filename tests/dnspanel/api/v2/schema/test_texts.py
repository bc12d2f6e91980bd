"""Tests of the texts that operations share, for path variables and for answers by status."""

import pytest

from dnspanel.api.v2.schema.texts import answer_text, variable_text

LISTS = {"/api/v2/dnssec/policies": "listDnssecPolicies", "/api/v2/nodes": "listNodes", "/api/v2/drafts": "listDrafts"}
WRITTEN = ("200", "202", "400")


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("/api/v2/dnssec/policies/{policy_id}", "policy_id", "Id of the policy, from `listDnssecPolicies`."),
        ("/api/v2/nodes/{name}/front", "name", "Name of the node, from `listNodes`."),
        ("/api/v2/drafts/{key}/plan", "key", "UUID of the draft, from `listDrafts`."),
        ("/api/v2/teams/{team_id}/members/{user_id}", "user_id", "Id of the member."),
        ("/api/v2/publish-hooks/{hook_id}", "hook_id", "Id of the publish hook."),
    ],
)
def test_a_variable_is_called_after_the_list_that_it_is_from(path: str, name: str, text: str) -> None:
    assert variable_text(path, name, LISTS) == text


def test_a_zone_is_named_wherever_it_is() -> None:
    assert "dot" in variable_text("/api/v2/zones/{zone_name}", "zone_name", {})


@pytest.mark.parametrize(
    ("method", "status", "statuses", "schema", "begins"),
    [
        ("delete", "204", ("204",), None, "Done"),
        ("post", "202", WRITTEN, None, "Published;"),
        ("put", "200", WRITTEN, None, "Published and on every node"),
        ("post", "202", ("202", "400"), None, "Accepted;"),
        ("post", "201", ("201", "400"), {"description": "A team.\nOf people."}, "Created. A team."),
        ("get", "200", ("200",), {"description": "A page.", "properties": {"items": {}}}, "The items, or a page"),
        ("get", "200", ("200",), {"description": "A team."}, "A team."),
        ("get", "200", ("200",), None, "The content."),
    ],
)
def test_an_answer_is_told_by_its_status_and_its_body(
    method: str, status: str, statuses: tuple[str, ...], schema: dict[str, object] | None, begins: str
) -> None:
    assert answer_text(method, status, statuses, schema).startswith(begins)
