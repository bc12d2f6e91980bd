"""A zone's DNSSEC page. Tests `dnssec.display`, `dnssec.zone_keys` and `reads.parent_check` too."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.dnssec.node_answers import NodeAnswer, Verdict, ask_nodes
from dnspanel.fleet.models import Node, ParentCheck, ParentState
from dnspanel.web.dnssec import pages
from dnspanel.web.frame.dnssec_chain import DisplayAnswer
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.signing_state import KeyView
from dnspanel.zones.models import Publication, Zone, ZoneKey
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, YES, Browser, MakeZone, forget_password
from tests.dnspanel.web.editor.history.test_history import publish
from tests.dnspanel.zones.conftest import rr
from tests.dnspanel.zones.conftest import zone as zone
from tests.dnspanel.zones.dnssec.test_key_material import bind_keys
from tests.people import NOW, PASSWORD, make_person
from tests.ports import free_port

PAGE = "/zones/example.test./dnssec/"
DEFAULTS = {"algorithm": "13", "denial": "nsec"}


def acting(author: User | None = None) -> Acting:
    return Acting(author=author, channel="web", now=NOW)


@pytest.fixture
def signed(zone: Zone, bob: User) -> Zone:
    sign.sign(zones=[zone], acting=acting(bob))
    return zone


def send(client: Client, path: str, **data: Any) -> Any:
    return client.post(PAGE + path, {"form_id": uuid4(), **data})


def key_of(zone: Zone) -> KeyView:
    [key] = queries.keys_of(zone)
    return key


def fields_of(content: str, action: str) -> dict[str, str]:
    """Return the fields that this form's main button sends if nothing was typed, without JavaScript."""
    form = content[content.index(f'action="{action}"') :].partition("</form>")[0]
    found = {}
    for tag in re.findall(r"<input[^>]*>", form):
        is_off = re.search(r'type="(radio|checkbox)"', tag) and "checked" not in tag
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and not is_off:
            found[name[1]] = value[1] if value else ""
    for name, options in re.findall(r'<select name="([^"]*)".*?</select>()', form):
        selected = re.search(rf'<select name="{name}".*?value="([^"]*)" selected', form)
        found[name] = options or (selected[1] if selected else "")
    return found


def test_a_german_reads_how_a_zone_is_signed_and_what_its_changes_were(
    signed: Zone, browser: Browser, bob: User
) -> None:
    sign.set_denial(zone=signed, nsec3=Nsec3(opt_out=True, narrow=True), acting=acting(bob))
    sign.set_cds(zone=signed, cds="2", cdnskey=True, acting=acting(bob))
    User.objects.filter(pk=bob.pk).update(language="de")
    page = " ".join(browser(bob).get(PAGE).content.decode().split())
    assert "NSEC3 mit Opt-out, Narrow" in page
    assert "ersetzt ihren DS durch den DS dieser Schlüssel" in page
    history = browser(bob).get("/zones/example.test./history/").content.decode()
    assert "signiert mit ECDSAP256SHA256" in history
    assert "NSEC3 an mit Opt-out, Narrow" in history
    assert "CDNSKEY an" in history


def test_one_click_signs_with_the_default(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(PAGE).content.decode()
    assert "Not signed." in page
    response = client.post(PAGE + "sign/", fields_of(page, PAGE + "sign/"), follow=True)
    state = queries.signing_of(zone)
    [key] = queries.keys_of(zone, state)
    assert (key.algorithm, key.role, state.nsec3) == (13, "csk", None)
    page = response.content.decode()
    assert "DS at parent: not checked yet." in page
    for text in key.ds:
        assert f"example.test. IN DS {text}" in page
    assert len(key.ds) == 2
    assert f"example.test. IN DNSKEY {key.dnskey}" in page
    assert "No active node" in page or "no active nodes" in page


def test_more_signs_in_another_way(zone: Zone, browser: Browser, bob: User) -> None:
    terms = {"algorithm": "8", "bits": "2048", "split": "on", "denial": "nsec3", "opt_out": "on", "iterations": "0"}
    assert send(browser(bob), "sign/", **terms).status_code == 302
    assert {(key.role, key.bits) for key in queries.keys_of(zone)} == {("ksk", 2048), ("zsk", 2048)}
    assert queries.signing_of(zone).nsec3 == Nsec3(opt_out=True)


def test_a_double_click_makes_one_key(signed: Zone, browser: Browser, bob: User) -> None:
    data = {"form_id": uuid4(), "flags": "256", "algorithm": "13", "active": "on", "published": "on"}
    for _ in range(2):
        assert browser(bob).post(PAGE + "keys/", data).status_code == 302
    assert ZoneKey.objects.count() == 2
    data = {"form_id": uuid4(), **YES}
    for _ in range(2):
        assert browser(bob).post(f"{PAGE}keys/{ZoneKey.objects.latest('pk').pk}/delete/", data).status_code == 302
    assert len(queries.keys_of(signed)) == 1


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        ("sign/", {"denial": "nsec3", "algorithm": "13", "salt": "abc"}, "even number of hexadecimal digits"),
        ("sign/", {"denial": "nsec", "algorithm": "5"}, "Select a valid choice"),
        ("denial/", {"denial": "nsec3"}, "example.test. is not signed."),
        ("cds/", {"cds": "2"}, "example.test. is not signed."),
        ("keys/", {"flags": "257", "algorithm": "13", "private_text": "Algorithm: 13"}, "PrivateKey is missing"),
        ("keys/1/", {"active": "false"}, "no longer has this key"),
        ("keys/1/delete/", YES, "have a DNSSEC key 1"),
    ],
)
def test_what_is_refused_stands_at_the_form(
    path: str, data: dict[str, str], message: str, zone: Zone, browser: Browser, bob: User
) -> None:
    before = Publication.objects.count()
    response = send(browser(bob), path, **data)
    assert response.status_code == 422
    page = response.content.decode()
    assert message in page
    assert Publication.objects.count() == before


def test_a_key_is_brought_as_text(zone: Zone, browser: Browser, bob: User) -> None:
    pair = key_material.generate(15)
    data = {"flags": "257", "algorithm": "13", "private_text": pair.private_text, "active": "on", "published": "on"}
    assert send(browser(bob), "keys/", **data).status_code == 302
    assert key_of(zone).algorithm == 15
    again = send(browser(bob), "keys/", **data)
    assert again.status_code == 422
    assert b"already has this key" in again.content
    assert again["Cache-Control"] == "no-store"


def test_a_key_is_brought_as_both_files_of_bind(zone: Zone, browser: Browser, bob: User, tmp_path: Path) -> None:
    bind_keys(tmp_path, 13, ksk=False)

    def files() -> list[SimpleUploadedFile]:
        return [SimpleUploadedFile(path.name, path.read_bytes()) for path in sorted(tmp_path.glob("K*"))]

    data = {"flags": "257", "algorithm": "15", "active": "on", "published": "on"}
    assert send(browser(bob), "keys/", **data, key_files=files()).status_code == 302
    key = key_of(zone)
    assert (key.flags, key.algorithm) == (256, 13)
    again = send(browser(bob), "keys/", **data, key_files=files())
    assert b"already has this key" in again.content


def test_a_public_file_that_does_not_fit_is_refused_at_its_field(zone: Zone, browser: Browser, bob: User) -> None:
    private, other = key_material.generate(13).private_text, key_material.generate(13)
    record = f"IN DNSKEY {key_material.dnskey_text(257, 13, other.public)}"
    data = {"flags": "257", "algorithm": "13", "private_text": private}
    for owner, message in (("other.test.", "The key belongs to other.test."), (zone.name, "match the private key")):
        public = f"{owner} {record}"
        page = send(browser(bob), "keys/", **data, public_text=public).content.decode()
        assert message in page.partition('id="key_public_text_error"')[2].partition("</p>")[0]
        uploaded = [SimpleUploadedFile("K.key", public.encode()), SimpleUploadedFile("K.private", private.encode())]
        page = send(browser(bob), "keys/", flags="257", algorithm="13", key_files=uploaded).content.decode()
        assert message in page.partition('id="key_key_files_error"')[2].partition("</p>")[0]
    assert not ZoneKey.objects.exists()


def test_the_last_visible_key_is_not_hidden(signed: Zone, browser: Browser, bob: User) -> None:
    key = key_of(signed)
    response = send(browser(bob), f"keys/{key.id}/", published="false")
    assert response.status_code == 200
    assert f"Hide key {key.tag}" in response.content.decode()
    response = send(browser(bob), f"keys/{key.id}/", published="false", **YES)
    assert response.status_code == 422
    assert "only be signed with keys that aren’t published" in response.content.decode()


def test_keys_are_switched_off_and_on(signed: Zone, browser: Browser, bob: User) -> None:
    key = key_of(signed)
    assert send(browser(bob), f"keys/{key.id}/", active="false", **YES).status_code == 302
    assert (key_of(signed).active, key_of(signed).published) == (False, True)
    assert "All of the zone’s keys are inactive" in browser(bob).get(PAGE).content.decode()
    assert send(browser(bob), f"keys/{key.id}/", active="true").status_code == 302
    assert key_of(signed).active


def test_the_question_before_an_act_says_what_it_does(signed: Zone, browser: Browser, bob: User) -> None:
    key = key_of(signed)
    only = send(browser(bob), f"keys/{key.id}/delete/")
    assert only["Location"] == PAGE + "unsign/"
    page = send(browser(bob), f"keys/{key.id}/", active="false").content.decode()
    assert "No other key signs" in page
    spare = sign.add_key(zone=signed, acting=acting(), active=False)
    assert "will no longer have key" in send(browser(bob), f"keys/{spare.pk}/delete/").content.decode()
    sign.set_key(zone=signed, key_id=spare.pk, active=True, acting=acting())
    page = send(browser(bob), f"keys/{spare.pk}/delete/").content.decode()
    assert f"stop signing example.test. with key {spare.tag}" in page
    assert "only be restored from an exported copy" in page
    assert len(queries.keys_of(signed)) == 2


def test_denial_and_cds_change(signed: Zone, browser: Browser, bob: User) -> None:
    assert send(browser(bob), "denial/", denial="nsec3", narrow="on").status_code == 302
    assert send(browser(bob), "cds/", cds="2,4", cdnskey="on").status_code == 302
    state = queries.signing_of(signed)
    assert (state.nsec3, state.cds, state.cdnskey) == (Nsec3(narrow=True), "2,4", True)
    page = browser(bob).get(PAGE).content.decode()
    assert "Method: NSEC3 with narrow" in page
    assert fields_of(page, PAGE + "denial/")["denial"] == "nsec3"


def test_the_parent_is_asked_to_delete_its_ds_after_a_question_and_that_is_withdrawn(
    signed: Zone, browser: Browser, bob: User
) -> None:
    assert "so the parent zone will keep its DS" in browser(bob).get(PAGE).content.decode()
    question = send(browser(bob), "cds/", cds="0", cdnskey="on").content.decode()
    assert "A parent that checks CDS or CDNSKEY will remove the DS" in question
    assert queries.signing_of(signed).cds == ""
    assert send(browser(bob), "cds/", cds="0", cdnskey="on", **YES).status_code == 302
    state = queries.signing_of(signed)
    assert (state.metadata["PUBLISH-CDS"], state.metadata["PUBLISH-CDNSKEY"]) == ("0", "0")
    page = browser(bob).get(PAGE).content.decode()
    assert "Withdraw request" in page
    assert send(browser(bob), "cds/", cdnskey="on", cds="0").status_code == 302, "it is so already"
    assert send(browser(bob), "cds/").status_code == 302
    assert queries.signing_of(signed).metadata == {}
    assert "Withdraw request" not in browser(bob).get(PAGE).content.decode()


def test_unsigning_says_what_breaks_and_takes_the_name(signed: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(PAGE + "unsign/").content.decode()
    assert "validating resolvers won’t be able to resolve example.test. (6 RRsets)" in page
    assert "DS at parent: not checked yet." in page
    assert send(browser(bob), "unsign/", typed="other.test").status_code == 422
    assert queries.signing_of(signed).is_signed
    assert send(browser(bob), "unsign/", typed="example.test").status_code == 302
    assert not queries.signing_of(signed).keys
    assert browser(bob).get(PAGE + "unsign/").status_code == 302


def put_wrong_ds(zone: Zone) -> None:
    """Publish a wrong DS and accept the warnings."""
    ds = rr(f"sub 300 DS 1 13 2 {'ab' * 32}")
    patch = zone_patches.patch_of_steps(zone, [((ds.name, ds.type), zone_patches.replace_with(ds))])
    accepted = (BREAKING_DS, "ds-without-ns")
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, "web", NOW, "a drill"), accept_warnings=accepted)


def test_the_page_asks_for_what_nodes_answer_once_it_is_there(
    signed: Zone, browser: Browser, bob: User, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_answers, "SECONDS", 0.2)
    active_node()
    Node.objects.update(dns_address="127.0.0.1", dns_port=free_port())
    queried: list[str] = []
    monkeypatch.setattr(pages, "ask_nodes", lambda zone, now: queried.append(zone.name) or ask_nodes(zone, now=now))
    client = browser(bob)
    page = client.get(PAGE).content.decode()
    assert re.search(rf'hx-get="{PAGE}answers/"\s+hx-trigger="load"', page)
    assert queried == []
    fragment = client.get(PAGE + "answers/", headers=HTMX).content.decode()
    assert fragment.lstrip().startswith("<div")
    assert "unknown" in fragment
    assert 'hx-trigger="load"' not in fragment
    complete = client.get(PAGE + "answers/").content.decode()
    assert "Check nodes again" in complete
    assert "<h2" in complete
    assert queried == [signed.name] * 2
    Node.objects.all().delete()
    assert b"No node is serving zones yet." in client.get(PAGE + "answers/").content


@pytest.mark.parametrize(
    ("verdict", "is_signed", "tone", "word"),
    [
        (Verdict.VALIDATES, True, "ok", "valid"),
        (Verdict.UNSIGNED, True, "warn", "unsigned"),
        (Verdict.UNSIGNED, False, "quiet", "unsigned"),
        (Verdict.BOGUS, True, "bad", "bogus"),
        (Verdict.SILENT, True, "bad", "unknown"),
    ],
)
def test_an_answer_of_a_node_has_a_word_and_a_tone(verdict: Verdict, is_signed: bool, tone: str, word: str) -> None:
    found = DisplayAnswer(NodeAnswer("ns1", verdict, tags=(1, 2)), is_signed)
    assert found.tone == tone
    page = render_to_string("dnssec/_answers.html", {"answers": [found]})
    assert re.search(rf"{word}\s*</span>", page)
    assert '<span class="mono">1, 2</span>' in page


def test_registrars_get_each_field_of_a_ds_and_a_dnskey_alone(signed: Zone, browser: Browser, bob: User) -> None:
    key = key_of(signed)
    page = browser(bob).get(PAGE).content.decode()
    for record, texts in ((f"ds-{key.id}-4", key.ds[1].split(" ")), (f"dnskey-{key.id}", key.dnskey.split(" ", 3))):
        assert len(texts) == 4
        for number, text in enumerate(texts, 1):
            assert f'<code id="{record}-{number}">{text}</code>' in page.replace("&#x27;", "'")
            assert f'data-copy="{record}-{number}"' in page
    assert 'aria-label="Copy digest type from DS (SHA-384)"' in page


def test_the_time_line_has_the_keys_of_now_and_before(signed: Zone, browser: Browser, bob: User) -> None:
    first = key_of(signed)
    new = sign.add_key(zone=signed, acting=acting())
    sign.delete_key(zone=signed, key_id=first.id, acting=acting())
    page = browser(bob).get(PAGE).content.decode().partition('id="lives"')[2].partition("</section>")[0]
    lives = [" ".join(re.sub(r"<[^>]*>", " ", part).split()) for part in page.split("<h3>")[1:]]
    assert f"Key {first.tag} CSK" in lives[0]
    assert "now removed" in lives[0]
    assert f"Key {new.tag} CSK" in lives[1]
    assert "now active, published in DNSKEY" in lives[1]
    assert 'class="is-signs"' in page
    assert "style=" not in page
    sign.unsign(zones=[signed], acting=acting())
    page = browser(bob).get(PAGE).content.decode()
    assert f'<span class="mono">{new.tag}</span>' in page


def test_a_ds_in_a_zone_here_is_known_and_holds(zone: Zone, make_zone: MakeZone, browser: Browser, bob: User) -> None:
    child = make_zone(name="sub.example.test.")
    sign.sign(zones=[child], acting=acting())
    path = "/zones/sub.example.test./dnssec/"
    assert b"DS at parent: not checked yet." in browser(bob).get(path).content
    publish(zone, bob, [rr("sub 300 NS ns.example.net.")])
    assert b"The DS is not at the parent yet" in browser(bob).get(path).content
    assert b"in this panel has no DS" in browser(bob).get(path + "unsign/").content
    publish(zone, bob, [rr(f"sub 300 DS {key_of(child).ds[0]}")])
    assert b"The DS is at the parent" in browser(bob).get(path).content
    page = browser(bob).get(path + "unsign/").content.decode()
    assert "has a DS for" in page
    assert 'name="typed"' not in page
    refused = browser(bob).post(path + "unsign/", {"form_id": uuid4(), "typed": "sub.example.test"})
    assert refused.status_code == 422
    assert b"Delete the DS there" in refused.content
    assert queries.signing_of(child).is_signed
    put_wrong_ds(zone)
    assert "doesn’t match any active key here" in browser(bob).get(path).content.decode()


def test_the_zone_above_is_not_named_to_who_may_not_know_it(
    zone: Zone, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    child = make_zone(name="sub.example.test.")
    publish(zone, bob, [rr("sub 300 NS ns.example.net.")])
    put_wrong_ds(zone)
    member = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({child.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    sign.sign(zones=[child], acting=acting())
    for path in ("", "unsign/"):
        page = browser(member).get(f"/zones/sub.example.test./dnssec/{path}").content.decode()
        assert "/zones/example.test./" not in page


def test_a_reader_sees_it_all_and_no_form(signed: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(PAGE).content.decode()
    assert "IN DS" in page
    assert "permission to sign this zone" in page
    assert f'action="{PAGE}' not in page
    response = send(browser(charlie), "sign/", **DEFAULTS)
    assert response.status_code == 403
    assert "You don’t have permission to sign example.test or change its keys." in response.content.decode()


def test_a_private_key_is_shown_once_to_who_may_and_noted(
    signed: Zone, browser: Browser, alice: User, bob: User
) -> None:
    path = f"keys/{key_of(signed).id}/export/"
    refused = send(browser(bob), path)
    assert refused.status_code == 403
    assert b"read the private keys" in refused.content
    assert path.encode() not in browser(bob).get(PAGE).content
    client = browser(alice)
    forget_password(client)
    assert b"Your password" in send(client, path).content
    response = send(client, path, password=PASSWORD, **YES)
    page = client.get(response["Location"])
    assert b"Private-key-format: v1.2" in page.content
    assert page["Cache-Control"] == "no-store"
    again = client.get(response["Location"], follow=True).content
    assert b"Private-key-format" not in again
    assert AuditEntry.objects.filter(action="dnssec.key_export").count() == 1


def test_the_nodes_are_told_one_by_one_until_all_have_it(
    signed: Zone, browser: Browser, charlie: User, active_node: MakeNode
) -> None:
    active_node("ns1")
    client = browser(charlie)
    page = client.get(PAGE + "nodes/", headers=HTMX).content.decode()
    assert "0/1" in page
    assert 'data-live="1"' in page
    last = Publication.objects.latest("sequence")
    Node.objects.update(epoch=last.epoch, acked=last.sequence)
    page = client.get(PAGE + "nodes/", headers=HTMX).content.decode()
    assert "1/1" in page
    assert "data-live" not in page


def test_the_number_of_queries_does_not_grow_with_keys(
    signed: Zone, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        sign.add_key(zone=signed, acting=acting())
    client = browser(bob)
    with django_assert_max_num_queries(31):
        client.get(PAGE)


def test_a_right_that_a_grant_leaves_out_is_named(signed: Zone, browser: Browser) -> None:
    member = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT - {Right.DNSSEC}, zones=frozenset({signed.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    assert send(browser(member), "unsign/").status_code == 403
    assert b"Export" in browser(member).get(PAGE).content


def test_the_page_says_what_the_last_look_at_the_parent_found(signed: Zone, browser: Browser, bob: User) -> None:
    ParentCheck.objects.create(
        zone=signed,
        due_at=NOW,
        state=ParentState.DIFFERS,
        message="The DS at the parent test. names no key of the zone that signs.",
        parent="test.",
        known_at=NOW,
        checked_at=NOW,
        silent="Some servers for test. didn’t respond.",
    )
    page = browser(bob).get(PAGE).content.decode()
    assert "The DS at the parent test. names no key" in page
    assert "failed. Some servers for test. didn’t respond." in page
    assert "Check parent now" in page
    assert "The DS at the parent test. names no key" in browser(bob).get(PAGE + "unsign/").content.decode()


def test_the_parent_is_asked_by_a_worker(signed: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert client.post(PAGE + "parent/").status_code == 302
    check = ParentCheck.objects.get()
    assert (check.zone_id, check.state, AuditEntry.objects.latest("pk").action) == (
        signed.pk,
        "unknown",
        "dnssec.ask_parent",
    )
    page = client.get(PAGE).content.decode()
    assert "Checking parent…" in page
    fragment = client.post(PAGE + "parent/", headers=HTMX).content.decode()
    assert fragment.count('id="parent-check"') == 1
    assert "<html" not in fragment
    assert 'hx-trigger="live"' in fragment
    ParentCheck.objects.update(requested_at=NOW - timedelta(days=99))  # the page stops waiting for stopped workers
    fragment = client.get(PAGE + "parent/", headers=HTMX).content.decode()
    assert 'hx-trigger="live"' not in fragment
    assert 'hx-select="#trust"' in fragment  # the whole state is shown again


def test_the_parent_of_a_zone_that_is_not_signed_is_not_asked(zone: Zone, browser: Browser, bob: User) -> None:
    for headers in ({}, HTMX):
        response = browser(bob).post(PAGE + "parent/", headers=headers)
        assert (response.status_code, b"example.test. is not signed." in response.content) == (422, True)
    assert f'action="{PAGE}parent/"' not in browser(bob).get(PAGE).content.decode()


def test_who_only_reads_sees_what_was_found_and_asks_nobody(signed: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(PAGE).content.decode()
    assert "DS at parent: not checked yet." in page
    assert f'action="{PAGE}parent/"' not in page
    assert browser(charlie).post(PAGE + "parent/").status_code == 403
