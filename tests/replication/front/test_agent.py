"""An enrolled front between the panel and two real nodes: it acknowledges only what dnsdist answers.

Tests `front.front_server` too.
"""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.errors import Gap, NotServed, Refused
from replication.node_client import NodeClient
from replication.push import send_snapshot
from replication.store.snapshot import write_snapshot
from replication.wire.front_messages import Backend
from replication.wire.position import Position
from replication.wire.protocol import Sample
from tests.full import Sample as Amount
from tests.replication.agent.servers import PDNS_SERVER, Authority, short_directory
from tests.replication.front.enrolled import OTHER, ZONE, Site, enrolled_config, enrolled_site, running_front
from tests.replication.front.servers import until
from tests.replication.panel import EPOCH, SIGNING_KEY, Panel, records, small_zone

if PDNS_SERVER is None or shutil.which("dnsdist") is None:
    pytest.skip("pdns_server or dnsdist is not installed", allow_module_level=True)


@pytest.fixture
def site(panel: Panel) -> Iterator[Site]:
    with short_directory() as directory, enrolled_site(panel, directory) as site:
        yield site


def test_what_it_acknowledges_comes_out_of_a_full_cache_under_load_and_nothing_older(
    site: Site, sample: Amount
) -> None:
    stop, stale, counted = threading.Event(), Counter[str](), Counter[str]()
    acked = 1

    def load() -> None:
        while not stop.is_set():
            least = acked
            found = site.answer()
            counted["questions"] += 1
            if int(found.rpartition(".")[2]) < least:
                stale[found] += 1

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for last in range(2, sample.few(32, 62, reason="publications to a front under load")):
            if last % 20 == 2:
                until(lambda: site.report().bypassed_zones == 0 and site.hits_grow(), "the cache answers")
            sealed, pushes = site.publish(last, 0, 1)
            ack = site.push(sealed)
            assert (ack.position.sequence, ack.applied) == (last, None)
            acked = last
            for push in pushes:
                push.join()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not stale
    assert counted["questions"] > 200
    before = site.report().bypassed_zones
    assert before, "a zone that changed is asked of nodes for a while"
    assert site.answers(OTHER) == {"192.0.2.1"}


def test_a_zone_that_did_not_change_stays_in_the_cache_and_one_that_did_comes_back_to_it(site: Site) -> None:
    until(lambda: site.report().bypassed_zones == 0, "nothing is held once what was under way is over")
    site.answers(OTHER)
    sealed, pushes = site.publish(2, 0, 1)
    site.push(sealed)
    for push in pushes:
        push.join()
    before = [node.pdns.questions() for node in site.nodes]
    hits = site.client.status().front
    assert hits is not None
    assert site.answers(OTHER) == {"192.0.2.1"}
    assert site.answers() == {"192.0.2.2"}
    more = sum(node.pdns.questions() - first for node, first in zip(site.nodes, before, strict=True))
    assert 40 <= more < 60, "those of the zone that is held, and where each node is"
    until(lambda: site.report().bypassed_zones == 0, "the zone is not held any more")
    assert site.answers() == {"192.0.2.2"}


def test_it_is_not_in_sync_before_every_node_in_rotation_is(site: Site) -> None:
    sealed, [push] = site.publish(2, 0)
    push.join()
    ack = site.push(sealed)
    late = {backend.name: backend.is_in for backend in site.report().backends}
    if late["ns2"]:
        assert ack.position.sequence == 1
    until(lambda: site.client.ack().position.sequence == 2, "the late node is out, so what is left has it")
    assert site.rotation() == "ns1"
    assert site.answers() == {"192.0.2.2"}
    site.nodes[1].client.push(sealed, len(sealed))
    until(lambda: site.rotation() == "ns1 ns2", "it comes back by itself")
    assert site.answers() == {"192.0.2.2"}


def test_a_node_that_was_dead_meanwhile_answers_nothing_old_when_it_is_back(site: Site) -> None:
    site.nodes[1].agent.stop()
    site.nodes[1].pdns.kill()
    sealed, [push] = site.publish(2, 0)
    push.join()
    site.push(sealed)
    until(lambda: site.client.ack().position.sequence == 2, "the dead one is out")
    site.nodes[1].pdns.start()
    lacks = "is missing 1 change that the front already serves"
    until(lambda: lacks in {backend.reason for backend in site.report().backends}, "it is asked, and kept out")
    assert {site.answer() for _ in range(200)} == {"192.0.2.2"}
    site.nodes[1].agent.start()
    site.nodes[1].client.push(sealed, len(sealed))
    until(lambda: site.rotation() == "ns1 ns2", "it comes back once it has it")


def test_what_the_panel_does_not_get_to_tell_it_it_sees_at_the_nodes(site: Site) -> None:
    until(lambda: site.report().bypassed_zones == 0, "the cache is asked")
    assert site.answers() == {"192.0.2.1"}
    _, pushes = site.publish(2, 0, 1)
    for push in pushes:
        push.join()
    until(lambda: site.answer() == "192.0.2.2", "nothing of the cache is given any more")
    assert site.client.ack().position.sequence == 1, "and it claims nothing"


def test_whom_the_panel_takes_out_is_out_at_once_but_never_below_the_minimum(site: Site) -> None:
    starts = site.dnsdist.starts
    first, second = site.settings().backends
    drained = Backend(second.name, second.endpoint, out="is drained: new disks")
    site.set_up(backends=(first, drained))
    assert site.rotation() == "ns1"
    assert [b.reason for b in site.report().backends][1] == "is drained: new disks"
    assert [b.sentence for b in site.report().backends] == [
        "The node is up to date.",
        "The node is drained: new disks.",
    ]
    site.set_up(backends=(first, drained), minimum=2)
    assert site.rotation() == "ns1 ns2"
    assert "The node stays in rotation because at least 2 nodes must remain" in site.report().backends[1].reason
    site.set_up()
    assert site.rotation() == "ns1 ns2"
    site.set_up(backends=(first,))
    until(lambda: site.rotation() == "ns1", "a node less")
    site.set_up(backends=(first, Backend("ns2", second.endpoint, 5)))
    until(lambda: site.rotation() == "ns1 ns2", "a node more, with a weight")
    assert site.dnsdist.starts == starts, "dnsdist goes on"
    site.set_up(cache_entries=500)
    until(lambda: site.dnsdist.starts == starts + 1, "for another cache it starts anew")
    until(lambda: site.rotation() == "ns1 ns2", "and nodes are in rotation again")


def test_a_dnsdist_that_starts_anew_holds_what_is_held(site: Site) -> None:
    sealed, [push] = site.publish(2, 0)
    push.join()
    site.push(sealed)
    until(lambda: site.client.ack().position.sequence == 2, "the late node is out")
    site.dnsdist.kill()
    until(lambda: site.rotation() == "ns1", "it runs again, without the late node")
    assert site.answers() == {"192.0.2.2"}


def test_a_front_that_starts_anew_goes_on_where_it_was(site: Site) -> None:
    sealed, pushes = site.publish(2, 0, 1)
    site.push(sealed)
    for push in pushes:
        push.join()
    site.running.close()
    starts = site.dnsdist.starts
    site.start_agent()
    until(lambda: site.client.status().answered == Position(EPOCH, 2), "it proves again what it had taken")
    status = site.client.status()
    assert (status.position, status.state) == (Position(EPOCH, 2), "in order")
    assert status.digest_records == site.panel.store.position_and_digests()[2]
    assert status.versions["dnsdist"]
    assert site.dnsdist.starts == starts, "dnsdist went on meanwhile"
    site.panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.3"))
    later = site.panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.4"))
    with pytest.raises(Gap):
        site.push(later)


def test_of_a_snapshot_it_needs_no_chunk(site: Site, tmp_path: Path) -> None:
    sealed, pushes = site.publish(2, 0, 1)
    for push in pushes:
        push.join()
    manifest = write_snapshot(site.panel.store, tmp_path / "snapshot", key=SIGNING_KEY, time_ns=1)
    ack = send_snapshot(site.client, manifest.seal(SIGNING_KEY), no_chunk, raw_size=manifest.raw_size)
    assert ack.position == Position(EPOCH, 2)
    assert site.push(sealed).position == Position(EPOCH, 2), "what it has already changes nothing"
    with pytest.raises(Refused, match="it was not offered"):
        site.client.install_snapshot("0" * 32, 1)


def no_chunk(number: int) -> bytes:
    raise AssertionError(number)


def test_dnsdist_s_numbers_are_a_node_s_samples(site: Site) -> None:
    def samples() -> list[Sample]:
        return site.client.samples(0)

    until(lambda: len(samples()) > 1, "there are samples")
    until(lambda: site.report().bypassed_zones == 0, "the cache is asked")
    site.answers(OTHER)
    site.answers(OTHER)
    until(lambda: sum(sample.udp for sample in samples()) >= 80, "questions are counted")
    until(lambda: sum(sample.packet_hits for sample in samples()) > 0, "and hits of the cache")
    assert sum(backend.queries for backend in site.report().backends) > 0


def test_settings_that_would_end_in_no_dnsdist_are_refused_and_change_nothing(site: Site) -> None:
    before = site.config.conf_path.read_text()
    with pytest.raises(Refused, match="cache_entries has to be between"):
        site.set_up(cache_entries=-1)
    # In addition to rotation.conf, which the agent corrects within a quarter of a second.
    (site.config.rotation_dir / "typed.conf").write_text("getServer(")
    with pytest.raises(Refused, match=r"dnsdist\.conf"):
        site.set_up(cache_entries=7)
    assert site.config.conf_path.read_text() == before
    assert site.rotation() == "ns1 ns2"


def test_without_nodes_nothing_is_acknowledged(panel: Panel) -> None:
    with short_directory() as directory:
        authority = Authority(directory)
        config = enrolled_config(directory, authority)
        created = panel.create(small_zone(ZONE))
        with (
            running_front(config),
            NodeClient("127.0.0.1", config.panel_port, authority.client_context(), answer_seconds=30) as client,
            pytest.raises(NotServed, match="the panel hasn't sent the front's nodes yet"),
        ):
            client.push(created, len(created))
