"""Builders and snippets: only previewed records are drafted."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.fleet.lookups.turns import AT_ONCE, turn
from dnspanel.web.editor.typed.builders import Building
from dnspanel.zones.builders.authorities import judge_issuer
from dnspanel.zones.builders.catalogue import BUILDERS, RECORDS, SNIPPETS
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, Zone
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, resolver_of, serving
from tests.dnspanel.fleet.lookups.test_tls_certificate import by_tls, server
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.webhooks.receiver import make_certificate
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.ports import free_port

BUILDER = "/zones/example.test./builders/"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("@ 300 MX 10 mail", '@ 300 TXT "v=spf1 mx include:one.test -all" | "kept"', "mail 300 A 192.0.2.9")


@pytest.fixture
def client(zone: Zone, browser: Browser, bob: User) -> Client:
    return browser(bob)


def building_of(response: object) -> Building:
    building = response.context["building"]  # type: ignore[attr-defined]
    assert isinstance(building, Building)
    return building


def fields_of(building: Building) -> dict[str, str]:
    typed = {each.name: each.value for each in building.inputs if each.value}
    return typed | {"name": building.name, "seen": building.seen}


def drafted(author: User, zone: Zone, name: str, type: int) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=author, name=name, type=type).change.after


def test_all_builders_are_listed_and_open(client: Client) -> None:
    page = client.get(BUILDER).content.decode()
    for builder in (*RECORDS, *SNIPPETS):
        assert f'href="{BUILDER}{builder.key}/"' in page
        assert str(builder.title) in client.get(f"{BUILDER}{builder.key}/").content.decode()
    assert client.get(f"{BUILDER}nothing/").status_code == 404


def test_a_builder_opens_with_what_the_zone_has_and_explains_it(client: Client) -> None:
    response = client.get(f"{BUILDER}spf/")
    building = building_of(response)
    assert (building.values["mx"], building.values["include"], building.values["all"]) == ("yes", "one.test", "-all")
    assert "Senders allowed by the SPF record for one.test: allowed to send." in response.content.decode()


def test_a_preview_changes_nothing_and_what_was_previewed_is_drafted(client: Client, zone: Zone, bob: User) -> None:
    preview = client.post(f"{BUILDER}no-mail/", {"name": "@"})
    page = preview.content.decode()
    assert '<li class="diff-line is-delete">10 mail.example.test.</li>' in page
    assert '<li class="diff-line is-same">&quot;kept&quot;</li>' in page
    assert "Add 4 changes to draft" in page
    assert not Operation.objects.exists()
    response = client.post(f"{BUILDER}no-mail/", fields_of(building_of(preview)) | {"act": "add"})
    assert response["Location"] == "/zones/example.test./?in=draft"
    assert drafted(bob, zone, "example.test.", rdtypes.MX) == rr("@ 300 MX 0 .")
    assert drafted(bob, zone, "example.test.", rdtypes.TXT) == rr('@ 300 TXT "kept" | "v=spf1 -all"')
    again = client.post(f"{BUILDER}no-mail/", {"name": "@"}).content.decode()
    assert "The zone or your draft already contains these records." in again


def test_what_changed_since_the_preview_is_previewed_again(client: Client, zone: Zone, bob: User) -> None:
    fields = fields_of(building_of(client.post(f"{BUILDER}no-mail/", {"name": "@"})))
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 300 MX 20 other"), now=NOW)
    response = client.post(f"{BUILDER}no-mail/", fields | {"act": "add"})
    assert "has changed in the meantime" in response.content.decode()
    assert drafted(bob, zone, "example.test.", rdtypes.MX) == rr("@ 300 MX 20 other")


def test_nothing_is_drafted_without_a_preview(client: Client) -> None:
    assert client.post(f"{BUILDER}no-mail/", {"name": "@", "act": "add"}).status_code == 200
    assert not Operation.objects.exists()


def test_a_fault_is_told_at_its_field_and_nothing_is_lost(client: Client) -> None:
    response = client.post(f"{BUILDER}dmarc/", {"name": "@", "b-p": "none", "b-rua": "<nobody>"})
    assert response.status_code == 422
    page = response.content.decode()
    assert "isn’t a valid email address" in page
    assert 'value="&lt;nobody&gt;"' in page


def test_a_name_outside_of_the_zone_is_refused(client: Client) -> None:
    response = client.post(f"{BUILDER}no-mail/", {"name": "www.elsewhere.test."})
    assert response.status_code == 422
    assert "is not in the zone" in response.content.decode()


def test_a_name_below_which_nothing_has_room_is_told_at_the_name(client: Client) -> None:
    name = ".".join(["x" * 60] * 3 + ["y" * 55])
    for key in BUILDERS.keys() - {"lua"}:
        opened = client.get(f"{BUILDER}{key}/", {"name": name})
        assert opened.status_code == 200
        assert client.post(f"{BUILDER}{key}/", {"name": name}).status_code in (200, 422)
    assert "at most 255" in client.get(f"{BUILDER}dmarc/", {"name": name}).content.decode()


def test_the_preview_comes_alone_while_somebody_types(client: Client) -> None:
    fragment = client.post(f"{BUILDER}no-mail/?act=typed", {"name": "shop"}, headers=HTMX).content.decode()
    assert fragment.startswith("<section")
    assert "_dmarc.shop" in fragment


def test_a_key_is_looked_at(client: Client) -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    fields = {"name": "@", "b-selector": "s1", "b-public_key": pem}
    page = client.post(f"{BUILDER}dkim/", fields).content.decode()
    assert "An RSA key with 2048 bits." in page
    assert "s1._domainkey" in page


def test_look_ups_are_counted_over_dns(client: Client, settings: Any) -> None:
    port = free_port()
    settings.DNS_RESOLVERS = [f"{RESOLVER}:{port}"]
    records = [("one.test.", "TXT", '"v=spf1 ip4:198.51.100.0/24 -all"')]
    fields = fields_of(building_of(client.get(f"{BUILDER}spf/")))
    with serving({RESOLVER: resolver_of({}, *records)}, port):
        page = client.post(f"{BUILDER}spf/", fields | {"act": "count"}).content.decode()
    assert "2 of 10 lookups" in page
    assert "ip4:198.51.100.0/24" in page


def test_more_than_ten_look_ups_are_an_error(client: Client, settings: Any) -> None:
    port = free_port()
    settings.DNS_RESOLVERS = [f"{RESOLVER}:{port}"]
    records = [(f"c{at}.test.", "TXT", f'"v=spf1 include:c{at + 1}.test -all"') for at in range(12)]
    with serving({RESOLVER: resolver_of({}, *records)}, port):
        page = client.post(f"{BUILDER}spf/", {"name": "@", "b-include": "c0.test", "act": "count"}).content.decode()
    assert "lookups. Receivers reject records with more than 10, so" in page


def test_who_finds_all_turns_taken_is_told_so(client: Client) -> None:
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            stack.enter_context(turn())
        page = client.post(f"{BUILDER}spf/", {"name": "@", "b-include": "c0.test", "act": "count"}).content.decode()
        fields = {"name": "_443._tcp.www", "type": "TLSA", "fields_of": "TLSA", "tab": "fields", "act": "server"}
        panel = client.post("/zones/example.test./rrset/form/", fields).content.decode()
    assert "Try again in a few seconds." in page
    assert "Try again in a few seconds." in panel


def test_caa_is_compared_with_the_authority_of_the_server_s_certificate(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    url = f"{BUILDER}caa/"
    excluded = {"name": "@", "b-issue": "digicert.com", "act": "certificate"}
    pem = make_certificate(tmp_path / "server.pem", "Let's Encrypt")
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    for sent, expected in ((excluded, False), ({**excluded, "b-issue": "letsencrypt.org"}, True)):
        with server(by_tls(pem)) as port:
            response = client.post(url, {**sent, "server": f"127.0.0.1:{port}"})
        verdict = building_of(response).verdict
        assert verdict is not None
        assert verdict.is_allowed is expected
        assert ("don’t allow this authority" in response.content.decode()) is not expected
    assert not Operation.objects.exists()


def test_the_certificate_of_a_private_server_needs_the_operator_s_permission(client: Client) -> None:
    sent = {"name": "@", "b-issue": "digicert.com", "act": "certificate", "server": "127.0.0.1:8443"}
    building = building_of(client.post(f"{BUILDER}caa/", sent))
    assert building.verdict is None
    assert "PANEL_SOURCE_NETWORKS" in building.message


@pytest.mark.parametrize(
    ("name", "server_text", "reason"),
    [
        ("a..b", "", "the name has an empty label"),
        ("www.example.test", "", "has no trailing dot"),
        ("@", "127.0.0.1:web", "The port must be a number from 1 to 65535."),
    ],
)
def test_a_wrong_name_or_port_is_named_before_a_certificate_is_fetched(
    client: Client, name: str, server_text: str, reason: str
) -> None:
    sent = {"name": name, "b-issue": "digicert.com", "act": "certificate", "server": server_text}
    response = client.post(f"{BUILDER}caa/", sent)
    assert building_of(response).verdict is None
    assert reason in response.content.decode()


def certificate(issuer: str, *names: str) -> x509.Certificate:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, issuer)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, names)]), critical=False)
    return builder.sign(key, hashes.SHA256())


@pytest.mark.parametrize(
    ("issuer", "names", "values", "is_allowed"),
    [
        ("DigiCert Inc", ("www.test",), {"issue": "letsencrypt.org, DigiCert.com; policy=ev"}, True),
        ("DigiCert Inc", (), {"issue": ""}, False),
        ("Google Trust Services", ("*.test",), {"issue": "pki.goog"}, True),
        ("Google Trust Services", ("*.test",), {"issue": "pki.goog", "issuewild": "letsencrypt.org"}, False),
        ("Google Trust Services", ("*.test",), {"issue": "pki.goog", "no_wildcards": "yes"}, False),
        ("Google Trust Services", ("www.test",), {"issue": "pki.goog", "no_wildcards": "yes"}, True),
        ("Our own authority", ("www.test",), {"issue": "pki.goog"}, None),
    ],
)
def test_wildcards_need_an_authority_for_wildcards(
    issuer: str, names: tuple[str, ...], values: dict[str, str], is_allowed: bool | None
) -> None:
    assert judge_issuer(certificate(issuer, *names), values).is_allowed is is_allowed
