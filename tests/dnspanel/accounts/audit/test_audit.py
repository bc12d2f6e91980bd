"""Tests of the audit log."""

from django.db import transaction

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from tests.people import NOW


def test_an_entry_says_who_did_what_from_where(alice: User) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "req-1")):
        audit.record(action="token.create", by=alice, now=NOW, target="CI", token=3)
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.address, entry.request_id) == (alice, "192.0.2.7", "req-1")
    assert (entry.action, entry.target, entry.details) == ("token.create", "CI", {"token": 3})


def test_outside_of_a_request_there_is_no_origin(alice: User) -> None:
    audit.record(action="x", by=None, now=NOW)
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.address, entry.request_id) == (None, None, "")
    assert audit.origin() == audit.Origin()


def test_an_act_that_fails_leaves_no_entry(alice: User) -> None:
    try:
        with transaction.atomic():
            audit.record(action="x", by=alice, now=NOW)
            raise LookupError
    except LookupError:
        pass
    assert not AuditEntry.objects.exists()
