"""The settings pages: read-only values from the environment, and the initial values of the form for new zones."""

from django.conf import settings
from django.test import override_settings

from dnspanel.accounts.models import AuditEntry, User
from tests.dnspanel.web.conftest import Browser

PAGE, ZONES = "/settings/", "/settings/zones/"


def test_values_are_told_but_for_secrets(browser: Browser, alice: User) -> None:
    page = browser(alice).get(PAGE).content.decode()
    assert "PANEL_DEFAULT_NAMESERVERS" in page
    assert "zones=1000" in page
    assert "set (hidden)" in page
    for secret in (settings.SECRET_KEY, settings.MASTER_KEY, settings.REDIS_URL):
        assert secret not in page


def test_the_health_check_shows_findings_with_their_fixes(browser: Browser, alice: User) -> None:
    """No process runs in this test, and its PostgreSQL does not wait for the disk."""
    page = browser(alice).get("/settings/doctor/").content.decode()
    assert "No process of the panel is running." in page
    assert "systemctl restart dnspanel.target" in page
    assert "<code>postgresql.fsync</code>" in page
    german = browser(alice).get("/settings/doctor/", headers={"Accept-Language": "de"}).content.decode()
    assert "Es läuft kein Prozess des Panels." in german


def test_administrators_are_led_there(browser: Browser, alice: User, bob: User) -> None:
    assert 'href="/settings/"' in browser(alice).get("/zones/").content.decode()
    assert 'href="/settings/"' not in browser(bob).get("/zones/").content.decode()


def test_the_form_of_new_zones_begins_with_what_was_set(browser: Browser, alice: User) -> None:
    client = browser(alice)
    with override_settings(FIXED_BY_ENVIRONMENT=frozenset()):
        seen = {"seen": ""}
        wrong = client.post(ZONES, {"nameservers": "a..b", "hostmaster": "h@example.net", **seen})
        assert wrong.status_code == 422
        sent = {"nameservers": "NS1.new.test\nns2.new.test.", "hostmaster": "dns.team@new.test", **seen}
        assert client.post(ZONES, sent)["Location"] == ZONES
        form = client.get("/zones/new/").content.decode()
        assert "ns1.new.test." in form
        assert "dns\\.team.new.test." in form
        assert "Changed by alice" in client.get(ZONES).content.decode()
        late = client.post(ZONES, sent | {"hostmaster": "other@new.test"})
        assert late.status_code == 422
        assert "alice changed these settings in the meantime" in late.content.decode()
    entry = AuditEntry.objects.get(action="settings.zones")
    assert entry.details["after"]["nameservers"] == ["ns1.new.test.", "ns2.new.test."]


def test_what_the_environment_fixes_is_read_only(browser: Browser, alice: User) -> None:
    client = browser(alice)
    with override_settings(FIXED_BY_ENVIRONMENT=frozenset({"PANEL_DEFAULT_NAMESERVERS"})):
        page = client.get(ZONES).content.decode()
        assert "Set by PANEL_DEFAULT_NAMESERVERS in the panel’s environment." in page
        client.post(ZONES, {"nameservers": "ns1.new.test.", "hostmaster": "x@new.test", "seen": ""})
        form = client.get("/zones/new/").content.decode()
        assert "ns1.new.test." not in form
        assert "x.new.test." in form
