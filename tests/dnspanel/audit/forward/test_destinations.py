"""Tests of audit log destinations: only administrators change and test them, and secrets are never shown."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Actor, Permission, actor_of_token
from dnspanel.accounts.errors import AllRightsNeeded
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.audit.forward import destinations
from dnspanel.audit.forward.destinations import MOST_DESTINATIONS, Terms
from dnspanel.audit.forward.errors import DestinationRefused, DestinationUnknown, NotSent
from dnspanel.audit.forward.models import Destination, Kind
from dnspanel.audit.forward.send import Sent
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.audit.forward.conftest import MakeDestination, linked
from tests.dnspanel.webhooks.receiver import HOST, Receiver
from tests.own_certificates import own_certificate
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

OURS, OTHER = own_certificate("panel.test"), own_certificate("other.test")
URL = f"https://{HOST}/v1/logs"


def change(destination: Destination, by: Any, **terms: Any) -> None:
    given = {"name": destination.name, "address": destination.address, **terms}
    destinations.change_destination(destination=destination, terms=Terms(**given), by=by, now=NOW)
    destination.refresh_from_db()


def test_a_destination_begins_with_what_is_done_from_now_on_unless_it_is_to_have_all(
    make_destination: MakeDestination, alice: User
) -> None:
    linked(alice, "team.create", "team.delete")
    assert make_destination(URL, from_beginning=False).sent_to == 2
    late = make_destination(URL, name="Other")
    linked(alice)
    assert [(row.destination.name, row.behind, row.word) for row in destinations.destination_rows()] == [
        ("Other", 4, "behind"),
        ("SIEM", 2, "behind"),
    ]
    Destination.objects.filter(pk=late.pk).update(sent_to=4)
    assert destinations.destination_row(late.pk).word == "working"
    with pytest.raises(DestinationUnknown):
        destinations.destination_row(0)


def test_secrets_are_sealed_and_the_audit_log_has_none(make_destination: MakeDestination, alice: User) -> None:
    made = make_destination(URL, headers="Authorization: Bearer s3cret", certificate=OURS.certificate, key=OURS.key)
    assert made.headers is not None
    assert b"s3cret" not in bytes(made.headers)
    assert decrypt_secret(made.headers) == b"Authorization: Bearer s3cret"
    change(made, alice, headers="A: s3cret", certificate=OURS.certificate)
    entries = AuditEntry.objects.filter(action__startswith="evidence.").order_by("pk")
    told = [str(entry.details) for entry in entries]
    assert [entry.action for entry in entries] == ["evidence.create", "evidence.change"]
    assert not any("s3cret" in text or "PRIVATE" in text for text in told)
    assert entries[1].details["secrets"] == ["headers"]


@pytest.mark.parametrize(
    ("kind", "terms", "field"),
    [
        (Kind.OTLP, {"address": "https://10.0.0.1/v1/logs"}, "address"),
        (Kind.OTLP, {"address": "logs.example"}, "address"),
        (Kind.SYSLOG, {"address": "10.0.0.1:6514"}, "address"),
        (Kind.SYSLOG, {"address": f"{HOST}:25"}, "address"),
        (Kind.SYSLOG, {"address": f"{HOST}:6514", "headers": "A: b"}, "headers"),
        (Kind.OTLP, {"name": " "}, "name"),
        (Kind.OTLP, {"ca": "nonsense"}, "ca"),
        (Kind.OTLP, {"certificate": OURS.certificate}, "key"),
        (Kind.OTLP, {"certificate": OURS.certificate, "key": OTHER.key}, "key"),
        (Kind.OTLP, {"key": OURS.key}, "key"),
        (Kind.OTLP, {"headers": "nonsense"}, "headers"),
    ],
    ids=["private", "no url", "private host", "port", "headers", "name", "ca", "no key", "other key", "key", "header"],
)
def test_what_cannot_be_is_told_at_its_field(
    kind: Kind, terms: dict[str, Any], field: str, make_destination: MakeDestination
) -> None:
    with pytest.raises(DestinationRefused) as refused:
        make_destination(**{"address": URL, "kind": kind, **terms})
    assert list(refused.value.fields) == [field]
    assert not Destination.objects.exists()


def test_names_differ_and_there_are_not_many(make_destination: MakeDestination) -> None:
    made = [make_destination(URL, name=f"SIEM {number}") for number in range(MOST_DESTINATIONS - 1)]
    with pytest.raises(DestinationRefused, match="already"):
        make_destination(URL, name="SIEM 0")
    made.append(make_destination(URL, name="last"))
    with pytest.raises(DestinationRefused, match=f"at most {MOST_DESTINATIONS}"):
        make_destination(URL, name="one more")


def test_stored_secrets_stay_with_the_server_and_the_certificate_that_they_are_for(
    make_destination: MakeDestination, alice: User
) -> None:
    made = make_destination(URL, headers="A: b", certificate=OURS.certificate, key=OURS.key)
    key, headers = made.key, made.headers
    change(made, alice, address=f"{URL}?tenant=1", certificate=OURS.certificate)
    assert (made.version, bytes(made.key or b""), bytes(made.headers or b"")) == (2, key, headers)
    with pytest.raises(DestinationRefused, match="Enter the headers again"):
        change(made, alice, address=f"https://{HOST}:8443/", certificate=OURS.certificate)
    with pytest.raises(DestinationRefused, match="match this certificate"):
        change(made, alice, certificate=OTHER.certificate)
    change(made, alice, address=f"https://{HOST}:8443/", without_headers=True)
    assert (made.key, made.headers) == (None, None)


def test_a_change_keeps_the_position_unless_it_is_to_begin_anew_and_sees_another_change(
    make_destination: MakeDestination, alice: User
) -> None:
    made = make_destination(URL)
    Destination.objects.update(sent_to=7, failing_since=NOW, failures=3, resting_until=NOW, error="It is away.")
    stale = Destination.objects.get()
    change(made, alice, name="New")
    assert (made.name, made.sent_to, made.failures, made.resting_until, made.error) == ("New", 7, 0, None, "")
    change(made, alice, from_beginning=True)
    assert made.sent_to == 0
    with pytest.raises(DestinationRefused, match="Someone else has changed"):
        change(stale, alice)
    destinations.delete_destination(destination=made, by=alice, now=NOW)
    with pytest.raises(DestinationUnknown):
        change(stale, alice)


def test_one_that_is_off_waits_and_one_that_is_deleted_is_gone(make_destination: MakeDestination, alice: User) -> None:
    made = make_destination(URL)
    for active in (False, False, True):
        destinations.switch_destination(destination=made, active=active, by=alice, now=NOW)
        row = destinations.destination_row(made.pk)
        assert (row.destination.active, row.word == "off") == (active, not active)
    for _ in range(2):
        destinations.delete_destination(destination=made, by=alice, now=NOW)
    actions = AuditEntry.objects.filter(action__startswith="evidence.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["evidence.create", "evidence.close", "evidence.open", "evidence.delete"]


def test_a_try_says_what_came_of_it_and_wakes_what_rested(make_destination: MakeDestination, alice: User) -> None:
    with Receiver() as receiver:
        made = make_destination(receiver.url)
        Destination.objects.update(resting_until=NOW)
        destinations.try_destination(destination=made, by=alice, clock=timezone.now)
        assert b"evidence.test" in receiver.received[0].body
        receiver.answer(401)
        with pytest.raises(NotSent, match="The receiver returned HTTP status 401"):
            destinations.try_destination(destination=made, by=alice, clock=timezone.now)
    made.refresh_from_db()
    assert (made.resting_until, made.sent_to) == (None, 0)
    tries = AuditEntry.objects.filter(action="evidence.test").order_by("pk")
    assert [entry.details["failure"][:37] for entry in tries] == ["", "The receiver returned HTTP status 401"]


def _token(alice: User) -> Actor:
    """Return the actor of an administrator's token with the permissions `nodes` and `audit` alone."""
    terms = TokenTerms("watch", permissions=frozenset({Permission.NODES, Permission.AUDIT}))
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    assert actor is not None
    return actor


@pytest.mark.parametrize("who", [Role.MEMBER, Role.READER, Role.EDITOR, "token"])
def test_nobody_below_an_administrator_does_anything_to_them(
    who: str, make_destination: MakeDestination, alice: User
) -> None:
    made = make_destination(URL)
    by: Any = _token(alice) if who == "token" else make_person("mia", Role(who))
    terms, sent = Terms(name="x", address=URL), list[int]()

    def send(*_: Any, **__: Any) -> Sent:
        sent.append(1)
        return Sent(1)

    verbs: list[Callable[[], object]] = [
        lambda: destinations.create_destination(kind=Kind.OTLP, terms=terms, by=by, now=NOW),
        lambda: destinations.change_destination(destination=made, terms=terms, by=by, now=NOW),
        lambda: destinations.switch_destination(destination=made, active=False, by=by, now=NOW),
        lambda: destinations.try_destination(destination=made, by=by, clock=timezone.now, send=send),
        lambda: destinations.delete_destination(destination=made, by=by, now=NOW),
    ]
    for verb in verbs:
        with pytest.raises((Forbidden, AllRightsNeeded)):
            verb()
    assert list(Destination.objects.values_list("name", "active")) == [("SIEM", True)]
    assert sent == []
