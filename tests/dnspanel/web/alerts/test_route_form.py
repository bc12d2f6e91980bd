"""The form of an alert route. The verb makes the checks that the form leaves out."""

from datetime import time

from dnspanel.alerts.models import Route
from dnspanel.alerts.routes import RouteTerms
from dnspanel.web.alerts.route_form import RouteForm
from tests.people import NOW

GIVEN = {
    "name": "on call",
    "kind": "mail",
    "address": "ops@people.test",
    "least": "critical",
    "time_zone": "UTC",
    "quiet_from": "22:00",
    "quiet_until": "07:00",
}


def test_what_was_filled_in_becomes_terms() -> None:
    form = RouteForm(GIVEN)
    assert form.is_valid()
    assert form.terms() == RouteTerms("on call", "mail", "ops@people.test", "critical", time(22), time(7), "UTC")


def test_a_route_that_exists_fills_the_form_and_keeps_its_kind() -> None:
    route = Route(name="chat", kind="webhook", address="https://hooks.test/", quiet_from=time(1), created_at=NOW)
    form = RouteForm(route=route)
    assert (form["address"].label, form["name"].value()) == ("URL", "chat")
    assert form["kind"].is_hidden
    bound = RouteForm({**GIVEN, "kind": ""}, route=route)
    assert bound.is_valid()
    assert bound.terms(kind=route.kind).kind == "webhook"


def test_what_a_verb_refused_stands_at_its_field_or_above_all() -> None:
    form = RouteForm(GIVEN)
    assert form.is_valid()
    form.refuse_all({"name": ["taken"], "elsewhere": ["odd"]})
    assert form.errors["name"] == ["taken"]
    assert form.non_field_errors() == ["odd"]
