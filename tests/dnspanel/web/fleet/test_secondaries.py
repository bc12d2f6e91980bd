"""Pages of secondaries, and their form (`fleet.secondary_form`)."""

from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.fleet.models import Authority
from dnspanel.secondaries import set_up_secondaries
from dnspanel.secondaries.configuration import NO_SECRET
from dnspanel.secondaries.models import Kind, Member, Secondary
from dnspanel.web.fleet import secondaries
from dnspanel.web.fleet.secondary_form import SecondaryForm
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel
from dnspanel.zones.signing import sign
from tests.dnspanel.web.conftest import Browser, MakeZone, forget_password
from tests.own_certificates import own_certificate
from tests.people import NOW


def filled(**fields: Any) -> dict[str, Any]:
    return {
        "name": "partner",
        "kind": "bind",
        "addresses": "9.9.9.9\n[2620:fe::fe]:5300",
        "transport": "any",
        "choice": "all",
        "lag_bound": "300",
        "active": "on",
        "form_id": str(uuid4()),
        **fields,
    }


def made(browser: Browser, person: User, **fields: Any) -> Secondary:
    assert browser(person).post("/secondaries/new/", filled(**fields)).status_code == 302
    return Secondary.objects.latest("pk")


def test_it_is_made_once_and_its_configuration_has_the_secret_then(browser: Browser, alice: User) -> None:
    client, form = browser(alice), filled()
    page = client.post("/secondaries/new/", form, follow=True)
    assert page["Cache-Control"] == "no-store"
    secondary = Secondary.objects.get()
    secret = decrypt_secret(secondary.tsig_secret)
    assert page.content.count(secret) == 2, "alone, and within the configuration"
    assert b"catalog-zones" in page.content
    client.post("/secondaries/new/", form)
    assert Secondary.objects.count() == 1
    for path in ("/secondaries/", f"/secondaries/{secondary.pk}/"):
        content = client.get(path).content
        assert secret not in content
        assert b"[2620:fe::fe]:5300" in content
    assert NO_SECRET.encode() in content


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("addresses", "127.0.0.1"),
        ("networks", "everywhere"),
        ("name", "a b"),
        ("zones", "nowhere.test."),
        ("certificate", "mine"),
        ("tls_port", "0"),
    ],
)
def test_what_is_wrong_stands_at_its_field(browser: Browser, alice: User, field: str, value: str) -> None:
    form = filled(**{"choice": "list", "zones": "nowhere.test.", field: value})
    page = forget_password(browser(alice)).post("/secondaries/new/", form)
    assert page.status_code == 422
    assert f'id="id_{field}_error"'.encode() in page.content
    assert not Secondary.objects.exists()


def test_over_tls_its_page_says_how_and_by_which_certificates(
    browser: Browser, alice: User, make_zone: MakeZone, settings: Any
) -> None:
    settings.UPDATE_TLS_PORT = 8530
    make_zone(name="a.test.")
    own = own_certificate()
    secondary = made(browser, alice, transport="certificate", certificate=own.certificate, tls_port="853")
    Member.objects.update(transferred_how="IXFR", transferred_at=NOW, transferred_over_tls=True)
    client, url = browser(alice), f"/secondaries/{secondary.pk}/"
    content = client.get(url).content.decode()
    assert sha256(own.der).hexdigest() in content
    assert "TLS, port 853" in content
    assert "IXFR over TLS" in content
    assert "port 8530" in content
    assert "/etc/bind/dnspanel-client.key" in content
    authority = Authority.objects.get()
    assert content.count(authority.ca_pem.splitlines()[1]) == 1
    assert "PRIVATE KEY" not in content
    settings.UPDATE_TLS_PORT = 0
    assert client.get(url).status_code == 200, "the gateway speaks no TLS any more"


def test_its_page_lists_its_zones_and_says_how_far_they_are(
    browser: Browser, alice: User, charlie: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.test.", "b.test.", "c.test."):
        make_zone(name=name)
    signed = make_zone(name="signed.test.")
    sign.sign(zones=[signed], acting=Acting(None, Channel.SYSTEM, NOW))
    secondary = made(browser, alice)
    Member.objects.exclude(zone_name="b.test.").update(behind_since=None, transferred_how="IXFR", transferred_at=NOW)
    Member.objects.filter(zone_name="b.test.").update(behind_since=NOW, refused_at=NOW, refused_reason="Too <b>big</b>")
    client, url = browser(charlie), f"/secondaries/{secondary.pk}/"
    page = client.get(url)
    content = page.content.decode()
    assert [member.zone_name for member, _ in page.context["members"]] == ["a.test.", "b.test.", "c.test."]
    assert [state for _, (state, _) in page.context["members"]] == ["in sync", "late", "in sync"]
    assert "signed.test." in content
    assert "Too &lt;b&gt;big" in content
    assert "Rotate secret" not in content, "he may only see it"
    only = client.get(url, {"behind": "yes"}).context["members"]
    assert [member.zone_name for member, _ in only] == ["b.test."]
    monkeypatch.setattr(secondaries, "MOST_MEMBERS", 2)
    second = client.get(url + client.get(url).context["next"])
    assert [member.zone_name for member, _ in second.context["members"]] == ["c.test."]
    for nonsense in ("%", "x" * 5000, "²"):
        assert client.get(url, {"after": nonsense, "q": nonsense}).status_code == 200


def test_what_is_changed_holds(browser: Browser, alice: User) -> None:
    secondary = made(browser, alice)
    client, url = browser(alice), f"/secondaries/{secondary.pk}/"
    assert client.post(f"{url}change/", filled(name="other", active="")).status_code == 302
    secondary.refresh_from_db()
    assert (secondary.name, secondary.active) == ("other", False)
    assert b"switched off" in client.get(url).content
    assert client.post(f"{url}change/", filled(addresses="nowhere")).status_code == 422
    old = bytes(secondary.tsig_secret)
    page = client.post(f"{url}rotate/", follow=True)
    secondary.refresh_from_db()
    assert bytes(secondary.tsig_secret) != old
    assert decrypt_secret(secondary.tsig_secret) in page.content
    assert client.post(f"{url}notify/").status_code == 302
    assert client.post(f"{url}delete/").status_code == 302
    assert client.get(url).status_code == 404


def test_the_form_begins_with_what_is(alice: User, browser: Browser) -> None:
    terms = set_up_secondaries.terms_of(made(browser, alice))
    typed = {name: value for name, value in SecondaryForm.of(terms).initial.items() if value is not None}
    form = SecondaryForm({**typed, "form_id": str(uuid4())})
    assert form.is_valid()
    assert replace(form.terms(), addresses=tuple(form.terms().addresses), networks=(), zones=(), group_tags=()) == terms


@pytest.mark.parametrize("kind", Kind.values)
def test_each_program_gets_its_configuration(browser: Browser, alice: User, make_zone: MakeZone, kind: str) -> None:
    make_zone(name="a.test.")
    secondary = made(browser, alice, kind=kind)
    parts = browser(alice).get(f"/secondaries/{secondary.pk}/").context["parts"]
    text = "\n".join(part.text for part in parts)
    assert NO_SECRET in text
    assert secondary.tsig_name.removesuffix(".") in text
    assert f"catalog-{secondary.pk}.secondaries.dnspanel" in text
