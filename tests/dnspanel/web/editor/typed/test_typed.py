"""The side panel: fields by type and the text tab. No typed text is lost. Also tests `typed.typed_values` and
`typed.typed_helpers`.
"""

from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.web.frame.rows import row_id
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.typed.computed import tlsa_of
from replication.dns import rdtypes
from replication.dns.rrset import Notes, RRset
from tests.dnspanel.fleet.lookups.test_tls_certificate import by_tls, server
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.webhooks.receiver import make_certificate
from tests.dnspanel.zones.conftest import rr
from tests.dnspanel.zones.typed.test_computed import ECDSA, ED25519, PEM

FORM = "/zones/example.test./rrset/form/"
MX = "?name=example.test.&type=MX"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("mail 300 A 192.0.2.9", "@ 300 MX 10 mail | 20 backup", "_sip._tcp 300 SRV 1 2 5060 mail")


@pytest.fixture
def client(zone: Zone, browser: Browser, bob: User) -> Client:
    return browser(bob)


def drafted(author: User, zone: Zone, name: str, type: int) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=author, name=name, type=type).change.after


def sent(client: Client, query: str) -> dict[str, str]:
    """Return the fields that the panel would send if nothing were changed."""
    return fields_in(client.get(FORM + query))


def fields_in(response: object) -> dict[str, str]:
    panel = response.context["panel"]  # type: ignore[attr-defined]
    form = panel.form
    drawn = [name for name in form.fields if name != "tags"]
    fields = {name: str(form[name].value() or "") for name in drawn} | {"tab": panel.tab}
    if panel.values is None:
        return fields
    inputs = [each for drawn in panel.values.drawn_values for each in drawn.inputs]
    typed = {each.name: each.value for each in inputs if each.value}
    off = {f"v{at}-off": "yes" for at, value in enumerate(panel.values.values) if value.is_off}
    return fields | typed | off | {"count": str(len(panel.values.values)), "fields_of": panel.type}


def post(client: Client, fields: dict[str, str], **more: str) -> tuple[int, str]:
    response = client.post(FORM, fields | more, headers=HTMX)
    return response.status_code, response.content.decode()


def test_the_values_of_an_rrset_stand_in_their_fields(client: Client) -> None:
    fields = sent(client, MX)
    assert (fields["v0-preference"], fields["v0-host"]) == ("10", "mail.example.test.")
    assert (fields["v1-preference"], fields["v1-host"]) == ("20", "backup.example.test.")
    page = client.get(FORM + MX).content.decode()
    assert "<html" in page
    assert 'aria-describedby="v1-host-error v1-host-hint"' in page


def test_fields_are_saved_into_the_draft_by_a_plain_form(client: Client, zone: Zone, bob: User) -> None:
    response = client.post(FORM, sent(client, MX) | {"v1-preference": "30", "act": "save"})
    assert response["Location"] == f"/zones/example.test./#{row_id('example.test.', rdtypes.MX)}"
    assert drafted(bob, zone, "example.test.", rdtypes.MX) == rr("@ 300 MX 10 mail | 30 backup")


def test_enter_saves_as_the_button_does_and_the_row_comes_with_the_draft_bar(
    client: Client, zone: Zone, bob: User
) -> None:
    fields = sent(client, "?type=CAA") | {"name": "@", "v0-value": "ca.test"}
    status, fragment = post(client, fields)
    assert status == 200
    assert fragment.startswith('<div id="typed-panel"></div>')
    assert row_id("example.test.", rdtypes.CAA) in fragment
    assert '<div id="draft-bar"' in fragment
    assert drafted(bob, zone, "example.test.", rdtypes.CAA) == rr('@ 3600 CAA 0 issue "ca.test"')


def test_a_fault_is_told_at_its_field_and_nothing_is_lost(client: Client) -> None:
    fields = sent(client, MX) | {"v0-preference": "many", "v1-host": "<two> words", "comment": "kept & seen"}
    status, fragment = post(client, fields, act="save")
    assert status == 422
    assert '<p class="error" id="v0-preference-error">Enter a whole number.</p>' in fragment
    assert "cannot contain spaces" in fragment
    assert 'value="&lt;two&gt; words"' in fragment
    assert 'value="kept &amp; seen"' in fragment
    assert not Operation.objects.exists()


def test_tabs_change_without_losing_what_was_typed(client: Client) -> None:
    fields = sent(client, MX) | {"v0-preference": "many", "v1-host": "other.test.", "v1-off": "yes", "ttl": "60"}
    text = client.post(FORM, fields | {"act": "raw"})
    assert text.context["panel"].form["values"].value() == "many mail.example.test.\n; 20 other.test."
    as_text = fields_in(text)
    back = client.post(FORM, as_text | {"act": "fields"})
    assert back.context["panel"].tab == "raw"
    assert "Line 1 cannot be edited in the form" in back.content.decode()
    mended = client.post(FORM, as_text | {"act": "fields", "values": "5 new\n; 20 other.test."})
    again = fields_in(mended)
    assert (again["v0-preference"], again["v0-host"]) == ("5", "new.example.test.")
    assert again["v1-off"] == "yes"
    assert again["ttl"] == "60"


def test_values_are_added_and_removed_with_what_was_typed_into_the_others(client: Client) -> None:
    more = fields_in(client.post(FORM, sent(client, MX) | {"v0-host": "typed", "act": "add"}))
    assert more["count"] == "3"
    assert (more["v0-host"], more["v2-preference"]) == ("typed", "10")
    fewer = fields_in(client.post(FORM, more | {"act": "remove-1"}))
    assert fewer["count"] == "2"
    assert (fewer["v0-host"], fewer["v1-preference"]) == ("typed", "10")


def test_another_type_keeps_what_has_the_same_name(client: Client) -> None:
    fields = sent(client, "?type=SRV&name=_x._tcp") | {"v0-target": "mail", "v0-port": "25", "ttl": "5m"}
    response = client.post(FORM, fields | {"type": "URI", "act": "type"})
    changed = fields_in(response)
    assert changed["fields_of"] == "URI"
    assert (changed["v0-target"], changed["ttl"], changed["name"]) == ("mail", "5m", "_x._tcp")
    as_text = client.post(FORM, fields | {"type": "TYPE1234", "act": "type"})
    assert as_text.context["panel"].form["values"].value() == "10 0 25 mail"


def test_fields_are_checked_as_typed_without_complaints_about_empty_ones(client: Client) -> None:
    fields = sent(client, "?type=SRV&name=_x._tcp")
    status, checks = post(client, fields | {"v0-port": "70000"}, act="check")
    assert status == 200
    assert '<p class="error" id="v0-port-error" hx-swap-oob="true">The value must be from 0 to 65535.</p>' in checks
    assert '<p class="error" id="v0-target-error" hx-swap-oob="true"></p>' in checks
    _, fine = post(client, fields | {"v0-port": "25", "v0-target": "mail"}, act="check")
    assert "10 0 25 mail.example.test." in fine
    assert not Operation.objects.exists()


def test_the_checks_say_what_the_zone_would_not_bear(client: Client) -> None:
    fields = sent(client, "?type=MX&name=www") | {"v0-host": "nowhere"}
    _, checks = post(client, fields, act="check")
    assert "quick-says is-warning" in checks


def test_a_name_without_its_dot_is_asked_about(client: Client, zone: Zone, bob: User) -> None:
    fields = sent(client, "?type=MX&name=www") | {"v0-host": "mail.example.test"}
    status, question = post(client, fields, act="save")
    assert status == 422
    assert "Did you mean:" in question
    assert post(client, fields, means="absolute")[0] == 200
    assert drafted(bob, zone, "www.example.test.", rdtypes.MX) == rr("www 3600 MX 10 mail")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "_x._tcp 60 SRV 1 2 3 mail",
            {"name": "_x._tcp", "ttl": "60", "v0-port": "3", "v0-target": "mail.example.test."},
        ),
        ("@ MX 30 third", {"v0-preference": "10", "v2-preference": "30", "count": "3", "old_name": "example.test."}),
        ("www CAA", {"name": "www", "fields_of": "CAA", "v0-tag": "issue"}),
        ("_x._tcp SRV 1 2 mail", {"name": "_x._tcp", "tab": "raw", "values": "1 2 mail"}),
        ("www A 192.0.2.1", {"name": "www", "type": "A", "tab": "fields", "v0-address": "192.0.2.1"}),
        ("www", {"name": "www", "type": "MX"}),
    ],
)
def test_a_line_of_quick_add_goes_on_in_the_form(client: Client, line: str, expected: dict[str, str]) -> None:
    fields = fields_in(client.get(FORM, {"line": line}))
    assert fields | expected == fields


def test_an_open_row_goes_on_in_the_panel_as_it_was_typed(client: Client) -> None:
    row = {"name": "@", "type": "MX", "values": "7 typed", "old_name": "example.test.", "old_type": "MX", "ttl": "9"}
    fields = fields_in(client.post(FORM, row | {"act": "fields"}))
    assert (fields["v0-preference"], fields["v0-host"], fields["ttl"]) == ("7", "typed.example.test.", "9")


def test_an_rrset_that_changed_meanwhile_is_not_overwritten(client: Client, zone: Zone, bob: User) -> None:
    first, second = sent(client, MX), sent(client, MX)
    assert post(client, first, **{"v0-preference": "11"})[0] == 200
    status, fragment = post(client, second, **{"v0-preference": "12"})
    assert status == 422
    assert "changed in the meantime" in fragment


def test_a_new_name_moves_the_rrset_and_its_row(client: Client, zone: Zone, bob: User) -> None:
    status, fragment = post(client, sent(client, "?name=_sip._tcp.example.test.&type=SRV"), name="_sips._tcp")
    assert status == 200
    assert row_id("_sips._tcp.example.test.", rdtypes.SRV) in fragment
    assert row_id("_sip._tcp.example.test.", rdtypes.SRV) in fragment
    assert drafted(bob, zone, "_sip._tcp.example.test.", rdtypes.SRV) is None
    again = sent(client, "?name=_sips._tcp.example.test.&type=SRV")
    _, fragment = post(client, again, name="_third._tcp")
    assert f'hx-swap-oob="delete:#{row_id("_sips._tcp.example.test.", rdtypes.SRV)}"' in fragment


def test_fifty_values_are_the_most_that_have_fields(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    lines = " | ".join(f"{number} mail" for number in range(51))
    make_zone(f"@ 300 MX {lines}", name="many.test.")
    panel = browser(bob).get("/zones/many.test./rrset/form/?name=many.test.&type=MX").context["panel"]
    assert panel.tab == "raw"
    assert panel.form["values"].value().count("\n") == 50


def test_a_soa_says_how_its_serial_moves_and_is_always_served(client: Client) -> None:
    page = client.get(FORM + "?name=example.test.&type=SOA").content.decode()
    assert "The serial is updated according to SOA-EDIT-API: INCREASE." in page
    assert "Disable this value" not in page
    assert "Add value" not in page


def test_a_text_says_how_long_it_is_and_how_it_is_cut(client: Client, zone: Zone, bob: User) -> None:
    fields = sent(client, "?type=TXT&name=long") | {"v0-text": "x" * 300}
    _, checks = post(client, fields, act="check")
    assert "300 bytes, split into strings of 255, 45 bytes." in checks
    assert post(client, fields)[0] == 200
    assert fields_in(client.get(FORM + "?name=long.example.test.&type=TXT"))["v0-text"] == "x" * 300
    _, checks = post(client, fields | {"v0-text": "a"}, act="check")
    assert "1 byte." in checks


# ── Computed values ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_certificate_becomes_a_value_and_enter_does_not_save_before(client: Client) -> None:
    fields = sent(client, "?type=TLSA&name=_443._tcp.www") | {"help-certificate": PEM, "help-selector": "0"}
    fields |= {"help-usage": "3", "help-matching": "1"}
    response = client.post(FORM, fields)
    computed = fields_in(response)
    assert (computed["count"], computed["v0-selector"]) == ("1", "0")
    assert computed["v0-certificate"] == "0c75e335af924449449ee42c05d4f84c84262abe68870cf3664df031d5a40dbb"
    assert not Operation.objects.exists()
    assert response.context["panel"].helper.certificate == ""


def test_a_bad_certificate_is_told_and_kept(client: Client) -> None:
    fields = sent(client, "?type=TLSA&name=_443._tcp.www") | {"help-certificate": "nonsense", "act": "certificate"}
    page = client.post(FORM, fields).content.decode()
    assert "Paste a certificate in PEM format" in page
    assert ">nonsense</textarea>" in page


def test_keys_become_values_beside_those_that_are_there(client: Client) -> None:
    fields = sent(client, "?type=SSHFP&name=host") | {"help-keys": f"{ED25519}\n{ECDSA}", "act": "keys"}
    computed = fields_in(client.post(FORM, fields))
    assert computed["count"] == "2"
    assert (computed["v0-algorithm"], computed["v1-algorithm"]) == ("4", "3")


def test_hints_come_from_the_zone_with_the_draft(client: Client) -> None:
    fields = sent(client, "?type=HTTPS&name=mail") | {"act": "hints"}
    assert fields_in(client.post(FORM, fields))["v0-ipv4hint"] == "192.0.2.9"
    client.post("/zones/example.test./quick/", {"line": "mail AAAA 2001:db8::9"})
    assert fields_in(client.post(FORM, fields))["v0-ipv6hint"] == "2001:db8::9"
    elsewhere = client.post(FORM, fields | {"v0-target": "www.elsewhere.test."}).content.decode()
    assert "This zone doesn’t have an A or AAAA record for www.elsewhere.test." in elsewhere


def test_a_server_is_asked_only_where_the_panel_may_connect_to(client: Client) -> None:
    fields = sent(client, "?type=TLSA&name=_443._tcp.www") | {"act": "server"}
    refused = client.post(FORM, fields | {"help-host": "127.0.0.1", "help-port": "8443"}).content.decode()
    assert "127.0.0.1 is not a public address." in refused
    page = client.get(FORM + "?type=TLSA&name=_8443._tcp.www").content.decode()
    assert 'placeholder="www.example.test"' in page
    assert 'placeholder="8443"' in page


def test_the_certificate_of_a_server_becomes_a_value(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    pem = make_certificate(tmp_path / "server.pem")
    with server(by_tls(pem)) as port:
        fields = sent(client, f"?type=TLSA&name=_{port}._tcp.www") | {"help-host": "127.0.0.1"}
        computed = fields_in(client.post(FORM, fields | {"help-port": str(port)}))
    certificate = x509.load_pem_x509_certificate(pem.read_bytes())
    expected = tlsa_of(certificate, usage="3", selector="1", matching="1")
    assert computed["v0-certificate"] == expected["certificate"]


def test_notes_go_from_the_row_through_the_fields_into_the_draft(client: Client, zone: Zone, bob: User) -> None:
    row = {"name": "@", "type": "MX", "ttl": "300", "values": "10 mail ; old box\n20 backup", "tags": "mail"}
    fields = fields_in(client.post(FORM + MX, {**row, "old_name": "example.test.", "old_type": "MX", "act": "fields"}))
    assert fields["tab"] == "fields"
    response = client.post(FORM + MX, {**fields, "seen": sent(client, MX)["seen"], "act": "save"})
    assert response.status_code == 302
    kept = drafted(bob, zone, "example.test.", rdtypes.MX)
    assert kept is not None
    assert kept.notes == Notes(("mail",), (("10 mail.example.test.", "old box"),))
    assert client.post(FORM + MX, {**sent(client, MX), "ttl": "60", "act": "save"}).status_code == 302
    now = drafted(bob, zone, "example.test.", rdtypes.MX)
    assert now is not None
    assert (now.ttl, now.notes) == (60, kept.notes)
