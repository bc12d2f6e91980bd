"""The form that publishes a draft."""

from uuid import uuid4

import pytest
from django.http import QueryDict

from dnspanel.accounts.models import User
from dnspanel.web.editor.review.review_form import PublishForm
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


def form_of(plans: tuple[ZonePlan, ...], *pairs: tuple[str, str]) -> PublishForm:
    data = QueryDict(mutable=True)
    data["form_id"] = str(uuid4())
    for name, value in pairs:
        data.appendlist(name, value)
    return PublishForm(data, plans=plans)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone(*(f"h{number} 300 A 192.0.2.{number}" for number in range(1, 15)))


def test_a_quiet_change_needs_nothing_but_the_button(zone: Zone, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.1"), now=NOW)
    form = form_of(revision.preview(author=bob))
    assert form.is_valid(), form.errors
    assert not form.is_confirmed


def test_a_warning_needs_a_tick_and_a_reason(zone: Zone, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 5 A 192.0.2.1"), now=NOW)
    plans = revision.preview(author=bob)
    assert set(form_of(plans).errors) == {"__all__", "reason"}
    assert set(form_of(plans, ("accept", "ttl-low")).errors) == {"reason"}
    form = form_of(plans, ("accept", "ttl-low"), ("reason", "a test"))
    assert form.is_valid()
    assert form.accepted_warnings == {"ttl-low"}


def test_what_the_guard_holds_needs_the_name_of_the_zone(zone: Zone, bob: User) -> None:
    for number in range(1, 8):
        draft.delete_rrset(author=bob, zone=zone, name=f"h{number}.example.test.", type=1, now=NOW)
    plans = revision.preview(author=bob)
    field = f"confirm-{zone.pk}"
    assert field in form_of(plans, ("reason", "x")).errors
    assert field in form_of(plans, ("reason", "x"), (field, "other.test")).errors
    form = form_of(plans, ("reason", "x"), (field, "Example.Test"))
    assert form.is_valid()
    assert form.is_confirmed
    [(bound, reasons)] = form.confirmations
    assert "will delete 7 of" in reasons[0]
    assert bound.label == "Type example.test. to confirm"


def test_a_form_without_its_id_is_refused() -> None:
    assert "form_id" in PublishForm(QueryDict(), plans=()).errors
