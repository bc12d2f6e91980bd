"""Sentences about the actions of the audit log."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.utils import translation

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.web.templatetags.acts import describe_act, label_detail
from dnspanel.zones.audit.audit_trail import PUBLISH, Act
from dnspanel.zones.models import RevisionKind
from tests.people import NOW
from tests.syntax import dotted, nodes_of

ROOT = Path(__file__).resolve().parents[4]
# The names of constants with actions, and of functions whose first argument with a dot is an action.
CONSTANTS = {"ACTION", "FOLDED", "GONE", "HISTORY_PRUNED", "_TEST"}
FUNCTIONS = ("record", "lift", "change_guarded")
PROVIDED = ("change", "close", "create", "delete", "kept", "link", "open", "refused", "sign-in", "unlink")


def texts_in(node: ast.AST) -> Iterator[str]:
    yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


def actions() -> set[str]:
    """Return the names of all actions that the code writes to the audit log."""
    found = {f"{kind}.{verb}" for kind in ("oidc", "saml", "ldap") for verb in PROVIDED}
    for path in sorted((ROOT / "dnspanel").rglob("*.py")):
        for node in nodes_of(path):
            if isinstance(node, ast.Assign) and CONSTANTS & {dotted(target) for target in node.targets}:
                found |= set(texts_in(node.value))
            elif isinstance(node, ast.Call):
                if dotted(node.func).rpartition(".")[2].strip("_") in FUNCTIONS:
                    found |= {text for arg in node.args if isinstance(arg, ast.Constant) for text in texts_in(arg)}
                for keyword in node.keywords:
                    if keyword.arg == "action" and not any(
                        isinstance(n, ast.JoinedStr) for n in ast.walk(keyword.value)
                    ):
                        found |= set(texts_in(keyword.value))
    return {each for each in found if "." in each and " " not in each and not each.endswith(".")} - {"no.such"}


def act(action: str, **details: object) -> Act:
    return Act("entry", 1, NOW, "ann", "", None, action, "example.test.", "", "", details)


def test_every_action_has_a_sentence() -> None:
    found = actions()
    assert len(found) > 230
    assert [each for each in sorted(found) if "performed the action" in describe_act(act(each))] == []


@pytest.mark.parametrize("language", ["de", "fr", "es", "ja"])
def test_every_sentence_is_in_every_language(language: str) -> None:
    """Names and numbers are the only parts of a sentence that languages share."""
    english = {each: describe_act(act(each)) for each in actions()}
    with translation.override(language):
        assert [each for each, text in english.items() if describe_act(act(each)) == text] == []


@pytest.mark.parametrize(
    ("details", "sentence"),
    [
        ({"action": "sign-in.failed", "user": ""}, "A sign-in as example.test failed."),
        ({"action": "sign-in.failed", "target": "xn--\\{0}"}, "A sign-in as xn--\\{0} failed."),
        ({"action": "zone.settings", "user": ""}, "The panel changed the settings of example.test."),
        ({"action": "zone.settings", "user": "", "address": "::1"}, "Someone changed the settings of example.test."),
        ({"action": "token.create", "token": "CI"}, "ann (token: CI) created the token “example.test”."),
        ({"action": "team.add", "details": {"person": "<bob>"}}, "ann added <bob> to the team “example.test”."),
        ({"action": "team.add"}, "ann added … to the team “example.test”."),
        ({"action": "former.action", "target": ""}, "ann performed the action former.action: …"),
        ({"action": "oidc.sign-in", "details": {"provider": "Okta"}}, "example.test signed in through Okta."),
    ],
)
def test_a_sentence_names_the_actor_and_the_object(details: dict[str, object], sentence: str) -> None:
    assert describe_act(replace(act(""), **details)) == sentence  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "zones", "rrsets", "sentence"),
    [
        (RevisionKind.CREATE, 1, 9, "ann created example.test."),
        (RevisionKind.DELETE, 20_031, 0, "ann deleted 20,031 zones."),
        (RevisionKind.CHANGE, 1, 1, "ann published 1 change of example.test."),
        (RevisionKind.LIST, 1, 3, "ann published 3 changes of example.test."),
        ("", 4, 258, "ann published 258 changes of 4 zones."),
    ],
)
def test_a_publication_is_described_by_what_it_changed(kind: str, zones: int, rrsets: int, sentence: str) -> None:
    published = replace(act(PUBLISH, zones=zones), kind="publication", rrsets=rrsets, revision_kind=str(kind))
    assert describe_act(published) == sentence


@pytest.mark.django_db
def test_an_entry_of_the_database_is_described_too(alice: User) -> None:
    audit.record(action="node.drain", by=alice, now=NOW, target="ns3")
    assert describe_act(AuditEntry.objects.get()) == "alice drained the node ns3."


def test_details_have_labels_in_the_language_of_the_reader() -> None:
    assert [label_detail(name) for name in ("grace_days", "was", "soa_edit", "odd_name")] == [
        "Grace period (days)",
        "Before",
        "SOA-EDIT",
        "odd name",
    ]
    with translation.override("de"):
        assert label_detail("reason") == "Grund"
