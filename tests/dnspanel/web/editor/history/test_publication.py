"""The progress of a publication, and the button that undoes it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.fleet.models import Ack, Isolation, Node, NodeGroup
from dnspanel.fleet.nodes import heartbeats
from dnspanel.publish.encoding import stall
from dnspanel.publish.models import FirstSealing, Segment, UsedSchema
from dnspanel.web.editor.history import lanes
from dnspanel.web.editor.history import publication as module
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Operation, Publication, Zone
from dnspanel.zones.publishing import bulk, edit, failed, pieces, revision
from replication.dns import rrset
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person
from tests.publishing import change_rrsets


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


@pytest.fixture
def published(zone: Zone, bob: User) -> Publication:
    changes = {("www.example.test.", 1): rr("www 300 A 192.0.2.2")}
    now = timezone.now()
    return change_rrsets(zone=zone, changes=changes, author=bob, channel=Channel.WEB, now=now, reason="OPS <7>")


def url(publication: Publication) -> str:
    return f"/publications/{publication.sequence}/"


def seal(publication: Publication) -> None:
    Segment.objects.create(
        epoch=publication.epoch,
        schema=4,
        first=publication.sequence,
        last=publication.sequence,
        object_name="x",
        size=1,
        digest=b"",
        sealed_at=publication.at + timedelta(milliseconds=12),
    )
    at = publication.at + timedelta(milliseconds=12)
    FirstSealing.objects.create(epoch=publication.epoch, schema=4, last=publication.sequence, at=at)


def prove(node: Node, publication: Publication, ms: int) -> None:
    at = publication.at + timedelta(milliseconds=ms)
    Ack.objects.create(node=node, epoch=publication.epoch, sequence=publication.sequence, at=at)
    Node.objects.filter(pk=node.pk).update(epoch=publication.epoch, acked=publication.sequence, acked_at=at)


def test_on_its_way_the_page_asks_again_until_every_node_has_answered(
    published: Publication, active_node: MakeNode, browser: Browser, charlie: User
) -> None:
    nodes = [active_node(name) for name in ("ns1", "ns2")]
    client = browser(charlie)
    page = client.get(url(published)).content.decode()
    assert "OPS &lt;7&gt;" in page
    assert 'hx-trigger="load delay:300ms"' in page
    assert "in progress" in page
    seal(published)
    prove(nodes[0], published, 41)
    fragment = client.get(url(published), headers=HTMX).content.decode()
    assert fragment.startswith('<div class="stack progress-live" id="progress"')
    assert "after 12 ms" in fragment
    assert "1 of 2 nodes" in fragment
    assert "41 ms" in fragment
    prove(nodes[1], published, 60)
    fragment = client.get(url(published), headers=HTMX).content.decode()
    assert "2 nodes</span>" in fragment
    assert "after 0.06 s" in fragment
    assert "on all nodes" in fragment
    assert "hx-get" not in fragment


def test_times_come_from_the_first_sealing_and_the_first_confirmation(
    published: Publication, active_node: MakeNode, browser: Browser, charlie: User
) -> None:
    """Previously "Ready for the nodes after 130,984 ms" stood next to "everywhere in 0.11 s"."""
    prove(active_node("ns1"), published, 110)
    seal(published)
    client = browser(charlie)
    # Merging segments seals a new object.
    Segment.objects.update(sealed_at=published.at + timedelta(milliseconds=130_984))
    page = client.get(url(published)).content.decode()
    assert "after 12 ms" in page
    assert "after 0.11 s" in page
    # A publication that nodes serve is ready, even if its segments are pruned.
    FirstSealing.objects.all().delete()
    Segment.objects.all().delete()
    page = client.get(url(published)).content.decode()
    assert "in a moment" not in page
    # A node that joined later has the publication, but tells nothing about the time of the publication.
    Node.objects.update(created_at=published.at + timedelta(hours=1))
    page = client.get(url(published)).content.decode()
    assert "in sync" in page
    assert "0.11" not in page


def test_bars_show_the_times_beside_the_median_of_the_publications_before(
    published: Publication, active_node: MakeNode, browser: Browser, charlie: User
) -> None:
    node = active_node("ns1")
    before = published.sequence - 1
    Publication.objects.filter(sequence=before).update(epoch=published.epoch)
    at = Publication.objects.get(sequence=before).at
    Ack.objects.create(node=node, epoch=published.epoch, sequence=before, at=at + timedelta(milliseconds=400))
    prove(node, published, 100)
    seal(published)
    page = browser(charlie).get(url(published)).content.decode()
    assert "100 ms, median 400 ms" in " ".join(page.split())
    assert "The mark in a bar is the median of the last 100 publications." in page
    assert '<rect x="0" y="2" width="30" height="6">' in page, "ready after 12 of 400 ms"
    assert '<rect x="30" y="2" width="220" height="6">' in page
    assert 'x1="1000"' in page, "the mark of the median"


def test_of_many_nodes_the_slowest_are_shown(
    published: Publication, active_node: MakeNode, browser: Browser, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_LANES", 2)
    for name, ms in (("ns1", 30), ("ns2", 10), ("ns3", 20)):
        prove(active_node(name), published, ms)
    page = browser(charlie).get(url(published)).content.decode()
    assert [f">{name}</a>" in page for name in ("ns1", "ns2", "ns3")] == [True, False, True]
    assert "1 more node got the publication earlier." in page


def test_fronts_and_the_canary_have_their_place(
    published: Publication, active_node: MakeNode, browser: Browser, alice: User
) -> None:
    """Previously a fleet with a front and a canary was 4/4 in lists, and 3/3 with four dots on this page."""
    for name in ("ns1", "front1", "ring0"):
        prove(active_node(name), published, 41)
    Node.objects.filter(name="front1").update(is_front=True)
    Node.objects.filter(name="ring0").update(is_ring0=True)
    Node.objects.update(contact_at=timezone.now())
    client = browser(alice)
    page = client.get(url(published)).content.decode()
    assert "1 node, 1 front, canary" in page
    assert all(f">{name}</a>" in page for name in ("ns1", "front1", "ring0"))
    for address in ("/publications/", "/", "/zones/example.test./", "/nodes/"):
        assert "1 node, 1 front, canary" in client.get(address).content.decode(), address


def test_the_title_counts_all_zones_of_the_publication(
    make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Previously the title said "50+ zones published" for 102 zones."""
    monkeypatch.setattr(module, "MOST_REVISIONS", 2)
    zones = [make_zone(name=f"z{number}.test.") for number in range(3)]
    for zone in zones:
        draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.9", origin=zone.name), now=NOW)
    found = revision.publish(acting=Acting(bob, Channel.WEB, timezone.now()))
    page = browser(bob).get(url(found)).content.decode()
    assert "3 zones published" in page
    assert "The first 2 of 3 zones are shown." in page


def test_a_late_node_is_told_in_words_and_asked_about_rarely(
    published: Publication, active_node: MakeNode, browser: Browser, bob: User
) -> None:
    active_node("ns1")
    Publication.objects.filter(pk=published.pk).update(at=timezone.now() - timedelta(minutes=5))
    page = browser(bob).get(url(published)).content.decode()
    assert 'data-live="2"' in page
    assert "Nodes that are behind catch up automatically" in page


def test_without_nodes_it_is_saved_and_says_so(published: Publication, browser: Browser, bob: User) -> None:
    assert (
        "The revision is saved. Nodes will be updated when they join."
        in browser(bob).get(url(published)).content.decode()
    )


def test_when_encoding_stands_still_the_page_says_why(published: Publication, browser: Browser, bob: User) -> None:
    stall.record_stall(
        schema=4,
        sequence=published.sequence,
        zone_name="example.test.",
        message="The disk is full.",
        now=timezone.now(),
    )
    page = browser(bob).get(url(published)).content.decode()
    assert "Publishing has stopped. The disk is full." in page


def test_why_it_stands_still_is_not_told_of_a_zone_that_a_person_may_not_know_about(
    zone: Zone, published: Publication, make_zone: MakeZone, browser: Browser, alice: User
) -> None:
    make_zone(name="secret.test.")
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=timezone.now())
    message = "secret.test. cannot be encoded: a CNAME beside other RRsets."
    now = timezone.now()
    stall.record_stall(schema=4, sequence=published.sequence, zone_name="secret.test.", message=message, now=now)
    page = browser(mia).get(url(published)).content.decode()
    assert "secret.test." not in page
    assert "Publishing has stopped. An earlier revision cannot be prepared for the nodes" in page
    assert message in browser(alice).get(url(published)).content.decode()


def test_undo_makes_the_inverse_draft_and_leads_to_its_review(
    zone: Zone, published: Publication, browser: Browser, bob: User
) -> None:
    response = browser(bob).post(url(published) + "undo/", follow=True)
    assert response.redirect_chain == [("/zones/example.test./review/?reason=Undo+publication+2", 302)]
    assert rrset_pages.rrset_row(zone=zone, author=bob, name="www.example.test.", type=1).change.after == rr(
        "www 300 A 192.0.2.1"
    )


def test_what_cannot_be_undone_by_a_draft_says_what_to_do_instead(zone: Zone, browser: Browser, bob: User) -> None:
    created = Publication.objects.earliest("sequence")
    client = browser(bob)
    assert "Undo publication" not in client.get(url(created)).content.decode()
    assert "To undo this, delete the zone" in client.post(url(created) + "undo/", follow=True).content.decode()


def test_the_records_of_a_large_new_zone_go_with_the_zone(
    browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Previously the undo of a large zone's records left an empty zone.
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 2)
    rrsets = [rr(f"n{number} 300 A 192.0.2.1", origin="large.test.") for number in range(5)]
    filled = edit.create_zone(zone=edit.NewZone("large.test.", rrsets), acting=Acting(alice, "web", NOW))
    assert filled.part_of is not None
    assert "Undo publication" not in browser(alice).get(url(filled)).content.decode()
    page = browser(alice).post(url(filled) + "undo/", follow=True).content.decode()
    assert page.count("To undo this, delete the zone") == 1
    assert not Operation.objects.exists()


def test_without_script_the_page_says_to_reload_it(
    published: Publication, active_node: MakeNode, browser: Browser, bob: User
) -> None:
    node = active_node("ns1")
    assert "<noscript><p" in browser(bob).get(url(published)).content.decode()
    prove(node, published, 5)
    assert "Reload this page" not in browser(bob).get(url(published)).content.decode()


def test_a_publication_is_ready_when_it_is_sealed_for_every_schema(published: Publication) -> None:
    UsedSchema.objects.create(schema=99, since=NOW)
    seal(published)
    assert module._ready_ms(published) is None
    UsedSchema.objects.filter(schema=99).delete()
    assert module._ready_ms(published) == 12


def test_words_of_the_machinery_are_for_who_looks_after_it(
    published: Publication, browser: Browser, alice: User, bob: User
) -> None:
    path = url(published)
    assert f"log sequence {published.sequence}" in browser(alice).get(path).content.decode()
    page = browser(bob).get(path).content.decode()
    assert "Ready for nodes" in page
    Publication.objects.filter(pk=published.pk).update(failed_reason="ns9 answered SERVFAIL.")
    page += browser(bob).get(path).content.decode()
    assert "canary name server, which is updated first" in page
    for word in ("of the log", "Encoded", "ring 0"):
        assert word not in page


def test_a_deleted_zone_keeps_its_progress_page(zone: Zone, browser: Browser, bob: User) -> None:
    gone = edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, timezone.now()))
    page = browser(bob).get(url(gone)).content.decode()
    assert "example.test. deleted" in page
    assert "Undo publication" not in page


def test_a_publication_that_never_was_is_not_found(zone: Zone, browser: Browser, bob: User) -> None:
    assert browser(bob).get("/publications/999999/").status_code == 404


def test_a_reader_sees_progress_but_no_undo(published: Publication, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(url(published)).content.decode()
    assert "Undo publication" not in page


def test_a_publication_that_failed_says_why_and_can_be_a_draft_again(
    published: Publication, active_node: MakeNode, browser: Browser, bob: User
) -> None:
    node = active_node("ns1")
    reason = "PowerDNS failed to answer a query for www.example.test. A: SERVFAIL."
    inverse = failed.take_back(
        sequence=published.sequence,
        reason=reason,
        now=timezone.now(),
        in_transaction=lambda each: keep(published, each),
    )
    assert inverse is not None
    prove(node, inverse, 5)
    client = browser(bob)
    page = client.get(url(published)).content.decode()
    assert reason in page
    assert f'href="{url(inverse)}"' in page
    assert "everywhere" not in page  # the node is past it, but never had it
    assert 'hx-get="' + url(published) not in page
    again = client.post(f"{url(published)}again/")
    assert again["Location"] == "/changes/"
    assert "192.0.2.2" in client.get("/changes/").content.decode()


def test_changes_that_the_person_may_not_make_are_left_out_and_the_page_says_so(
    published: Publication, zone: Zone, make_zone: MakeZone, browser: Browser
) -> None:
    secret = make_zone("www 300 A 192.0.2.1", name="secret.test.")
    wanted = {("www." + each.name, 1): rrset.make("www." + each.name, 1, 60, ["192.0.2.9"]) for each in (zone, secret)}
    zone.refresh_from_db()
    bad, _ = bulk.change_zones(
        changes=[
            bulk.ZoneChange(each.pk, each.revision, {key: wanted[key] for key in wanted if key[0].endswith(each.name)})
            for each in (zone, secret)
        ],
        acting=Acting(None, Channel.WEB, timezone.now()),
    )
    assert bad is not None
    failed.take_back(
        sequence=bad.sequence, reason="SERVFAIL", now=timezone.now(), in_transaction=lambda each: keep(bad, each)
    )
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=timezone.now())
    client = browser(mia)
    page = client.post(f"{url(bad)}again/", follow=True).content.decode()
    assert "Changes that you aren’t allowed to make were left out." in page
    assert [each.zone for each in Operation.objects.select_related("zone")] == [zone]


def keep(bad: Publication, inverse: Publication) -> None:
    Isolation.objects.create(
        epoch=inverse.epoch, failed=bad.sequence, inverse=inverse.sequence, found_at=timezone.now()
    )


def test_stages_show_who_waits_for_whom(
    published: Publication, active_node: MakeNode, browser: Browser, alice: User
) -> None:
    heartbeats.beat(process=heartbeats.COLLECTOR, now=timezone.now())
    canary, rest = (NodeGroup.objects.create(name=name, order=at) for at, name in enumerate(("canary", "rest")))
    for name, group, sequence in (("ns1", canary, published.sequence - 1), ("ns2", rest, published.sequence - 1)):
        node = active_node(name)
        now = timezone.now()
        Node.objects.filter(pk=node.pk).update(
            group=group, epoch=published.epoch, acked=sequence, acked_at=now, contact_at=now
        )
    Node.objects.filter(pk=active_node("ring0").pk).update(is_ring0=True, epoch=published.epoch, acked=0)
    page = browser(alice).get(url(published)).content.decode()
    assert page.index('<span class="strong">the panel’s canary</span>') < page.index(
        '<span class="strong">canary</span>'
    )
    assert page.index('<span class="strong">canary</span>') < page.index('<span class="strong">rest</span>')
    assert f"waiting for ns1 in canary, at sequence {published.sequence - 1} of {published.sequence}" in page
    plain = browser(make_person("rita", role="reader")).get(url(published)).content.decode()
    assert "canary name server" in plain
    assert '<span class="strong">rest</span> <span class="quiet">updated later</span>' in plain
    for word in ("ring 0", "at sequence"):
        assert word not in plain
