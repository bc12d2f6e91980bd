"""Tests of stored texts: reports, alerts and refusals appear in each reader's language, and logs in English."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import translation

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.alerts.models import Alert
from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.models import Node
from dnspanel.fleet.push.acks import record_refusal
from dnspanel.texts import Text, gettext, speaking
from dnspanel.transfer.models import ImportFault, ImportJob
from replication.dns import rdata
from replication.errors import BadRdata, Diverged, MapFull
from replication.wire.protocol import decode_refusal, encode_refusal
from tests.dnspanel.fleet.conftest import MakeNode, active_node, live_redis
from tests.dnspanel.transfer.conftest import MakeImport, directories, import_all, make_import, zone_text
from tests.dnspanel.web.conftest import Browser, browser
from tests.people import NOW, alice, bob

__all__ = ["active_node", "alice", "bob", "browser", "directories", "live_redis", "make_import"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def hans(bob: User) -> User:
    """Return Bob with German as his language."""
    User.objects.filter(pk=bob.pk).update(language="de")
    bob.refresh_from_db()
    return bob


def raw(table: str, column: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column}::text FROM {table}")
        return str(cursor.fetchone()[0])


def test_a_text_is_stored_without_a_language_and_read_in_each() -> None:
    with speaking("fr"):
        message = gettext("{name} doesn’t have an address.").format(name="<b>ns1</b> {x}")
        keep([Condition("k1", "node.late", Severity.WARNING, message)], now=NOW)
    assert json.loads(raw("alerts_alert", "sentence"))["text"] == "{name} doesn’t have an address."
    assert Alert.objects.get().sentence == "<b>ns1</b> {x} doesn’t have an address."
    with speaking("de"):
        alert = Alert.objects.get()
        assert alert.sentence == "<b>ns1</b> {x} hat keine Adresse."
        alert.save()
        assert Alert.objects.filter(sentence=alert.sentence).exists()
    assert Alert.objects.get().sentence == "<b>ns1</b> {x} doesn’t have an address."


def test_what_was_stored_before_is_read_as_it_is() -> None:
    keep([Condition("k1", "node.late", Severity.WARNING, "ns1 is late")], now=NOW)
    assert raw("alerts_alert", "sentence") == "ns1 is late"
    with speaking("de"):
        assert Alert.objects.get().sentence == "ns1 is late"


def test_such_columns_need_no_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_the_audit_log_keeps_english_whoever_the_request_was_for(bob: User) -> None:
    with speaking("ja"):
        reason = gettext("{name} doesn’t have an address.").format(name="ns1")
        audit.record(action="node.refuse", by=bob, now=NOW, target="ns1", reason=reason, each=[{"reason": reason}])
        assert AuditEntry.objects.get().details == {
            "reason": "ns1 doesn’t have an address.",
            "each": [{"reason": "ns1 doesn’t have an address."}],
        }


def test_a_german_reads_the_report_of_an_import(
    browser: Browser, alice: User, hans: User, make_import: MakeImport
) -> None:
    bad = zone_text("bad.test.", "www 300 A <b>", "@ MX mail.bad.test.")
    job: ImportJob = import_all(make_import({"bad.test.zone": bad}))
    page = browser(hans).get(f"/imports/{job.pk}/faults/").content.decode()
    assert "&lt;b&gt; ist keine gültige IPv4-Adresse" in page
    assert "2 Felder erwartet (Präferenz, Host), aber 1 gefunden" in page
    assert "isn’t a valid" not in page
    assert "Fehler</span>" in page
    assert "isn’t a valid IPv4 address" in browser(alice).get(f"/imports/{job.pk}/faults/").content.decode()
    assert ImportFault.objects.order_by("line").first().reason == "<b> isn’t a valid IPv4 address"  # type: ignore[union-attr]


def test_a_german_reads_an_alert(browser: Browser, hans: User, alice: User) -> None:
    message = gettext("The panel’s last backup is {time} old.").format(time=gettext("{count} h").format(count=30))
    keep([Condition("panel.backup", "panel.backup", Severity.WARNING, message)], now=NOW)
    assert "Die letzte Sicherung des Panels ist 30 h alt." in (browser(hans).get("/alerts/").content.decode())
    assert "The panel’s last backup is 30 h old" in browser(alice).get("/alerts/").content.decode()


@pytest.mark.usefixtures("live_redis")
def test_a_german_reads_what_a_node_refuses(browser: Browser, hans: User, active_node: MakeNode) -> None:
    """The refusal that an agent sends is translated. An agent of an older release sends English only."""
    node = active_node("ns1")
    refusal = decode_refusal(*encode_refusal(MapFull(path="/var/lib/<pdns>", map_size=1 << 20), None))
    record_refusal(node_id=node.pk, message=str(refusal), now=NOW)
    page = browser(hans).get("/nodes/ns1/").content.decode()
    assert "/var/lib/&lt;pdns&gt; ist voll (Map-Größe 1 MiB)" in page
    before = Node.objects.get(pk=node.pk).refused_since
    record_refusal(node_id=node.pk, message=str(refusal), now=NOW + timedelta(seconds=9))
    assert Node.objects.get(pk=node.pk).refused_since == before  # the same refusal isn't a new one
    status, body = encode_refusal(Diverged(expected=b"\1", found=b"\2"), None)
    older = body.replace(b'"spoken"', b'"other"')
    with speaking("de"):
        assert str(decode_refusal(status, older)) == "the database has digest 02, but 01 was expected"
        assert "hat den Digest 02" in str(decode_refusal(status, body))


def test_a_record_error_speaks_german_at_once() -> None:
    with speaking("de"), pytest.raises(BadRdata) as caught:
        rdata.parse(1, "2001:db8::1")
    assert str(caught.value) == "2001:db8::1 ist keine gültige IPv4-Adresse (verwenden Sie AAAA für IPv6-Adressen)"
    assert isinstance(str(caught.value), Text)


def test_outside_of_pages_texts_are_english() -> None:
    with translation.override("de"), speaking("en"):
        assert gettext("{name} doesn’t have an address.").format(name="ns1") == "ns1 doesn’t have an address."
