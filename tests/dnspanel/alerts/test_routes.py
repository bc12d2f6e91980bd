"""Tests of alert routes: create, change, switch, test and delete, each with an audit log entry."""

from datetime import time, timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.alerts import routes
from dnspanel.alerts.errors import RouteRefused, RouteUnknown
from dnspanel.alerts.models import Message, Route
from dnspanel.alerts.routes import RouteTerms
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.dnspanel.webhooks.receiver import resolve_to
from tests.people import NOW


def acts() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", "target"))


def faults(**terms: Any) -> dict[str, list[str]]:
    given = {"name": "x", "kind": "mail", "address": "ops@people.test", **terms}
    with pytest.raises(RouteRefused) as refusal:
        routes.create_route(terms=RouteTerms(**given), by=None, now=NOW, resolve=resolve_to("10.0.0.1"))
    return refusal.value.fields


def test_a_route_by_mail_has_no_secret_and_one_by_webhook_has_one(alice: User) -> None:
    mail = RouteTerms("ops", "mail", "ops@people.test", "critical", time(22), time(7), "Europe/Berlin")
    made = routes.create_route(terms=mail, by=alice, now=NOW)
    assert made.secret == ""
    assert (made.route.least, made.route.quiet_from, made.route.time_zone) == ("critical", time(22), "Europe/Berlin")
    hook = RouteTerms("chat", "webhook", "https://hooks.test/x")
    made = routes.create_route(terms=hook, by=alice, now=NOW, resolve=resolve_to("9.9.9.9"))
    assert made.secret.startswith("whsec_")
    assert decrypt_secret(made.route.secret or b"").decode() == made.secret
    assert made.secret.encode() not in bytes(made.route.secret or b"")
    assert acts() == [("route.create", "ops"), ("route.create", "chat")]


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"name": " "}, "name"),
        ({"kind": "pigeon"}, "kind"),
        ({"address": "nobody"}, "address"),
        ({"kind": "webhook", "address": "https://inside.test/"}, "address"),
        ({"kind": "webhook", "address": "ftp://hooks.test/"}, "address"),
        ({"least": "trivial"}, "least"),
        ({"quiet_from": time(22)}, "quiet_until"),
        ({"quiet_until": time(7)}, "quiet_from"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../etc/passwd"}, "time_zone"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(db: None, terms: dict[str, Any], field: str) -> None:
    assert list(faults(**terms)) == [field]
    assert not Route.objects.exists()


def test_two_routes_of_one_name_are_refused(route: MakeRoute) -> None:
    made = route("on call").route
    assert "already" in faults(name="on call")["name"][0]
    other = route("other").route
    with pytest.raises(RouteRefused):
        routes.change_route(
            route=other,
            terms=RouteTerms("on call", "webhook", other.address),
            by=None,
            now=NOW,
        )
    other.refresh_from_db()
    assert (made.name, other.name) == ("on call", "other")


def test_a_change_says_what_was_changed_and_does_not_ask_for_the_address_again(route: MakeRoute) -> None:
    made = route("on call", quiet_from=time(1), quiet_until=time(2)).route
    terms = RouteTerms("night", "webhook", made.address)
    routes.change_route(route=made, terms=terms, by=None, now=NOW, resolve=resolve_to("10.0.0.1"))
    made.refresh_from_db()
    assert (made.name, made.quiet_from) == ("night", None)
    assert AuditEntry.objects.latest("pk").details == {
        "before": {"name": "on call", "quiet_from": "01:00", "quiet_until": "02:00"},
        "after": {"name": "night", "quiet_from": None, "quiet_until": None},
    }
    with pytest.raises(RouteRefused, match="Create a new route"):
        routes.change_route(route=made, terms=RouteTerms("night", "mail", "a@people.test"), by=None, now=NOW)
    Route.objects.all().delete()
    with pytest.raises(RouteUnknown):
        routes.change_route(route=made, terms=terms, by=None, now=NOW)


def test_switching_a_route_off_forgets_what_waited_for_it(route: MakeRoute, alice: User) -> None:
    made = route("on call").route
    Message.objects.create(route=made, due_at=NOW)
    Message.objects.create(route=made, due_at=NOW, sent_at=NOW)
    routes.switch_route(route=made, active=False, by=alice, now=NOW)
    assert Message.objects.count() == 1
    routes.switch_route(route=made, active=False, by=alice, now=NOW)
    routes.switch_route(route=made, active=True, by=alice, now=NOW)
    assert [action for action, _ in acts()] == ["route.create", "route.off", "route.on"]


def test_a_new_secret_replaces_the_old_one_and_mail_has_none(route: MakeRoute) -> None:
    made = route("hook")
    secret = routes.rotate_secret(route=made.route, by=None, now=NOW)
    made.route.refresh_from_db()
    assert decrypt_secret(made.route.secret or b"").decode() == secret != made.secret
    with pytest.raises(RouteRefused):
        routes.rotate_secret(route=route("m", "mail", "a@people.test").route, by=None, now=NOW)


def test_a_test_waits_to_be_sent_and_a_deleted_route_takes_it_along(route: MakeRoute, alice: User) -> None:
    made = route("on call").route
    message = routes.send_test(route=made, by=alice, now=NOW + timedelta(seconds=1))
    assert (message.alert, message.due_at, message.sent_at) == (None, NOW + timedelta(seconds=1), None)
    routes.delete_route(route=made, by=alice, now=NOW)
    routes.delete_route(route=made, by=alice, now=NOW)
    assert not Message.objects.exists()
    assert [action for action, _ in acts()] == ["route.create", "route.test", "route.delete"]
    with pytest.raises(RouteUnknown):
        routes.send_test(route=made, by=alice, now=NOW)
