"""Tests of single messages of transfers to secondaries: zones, key, address and incremental changes."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import dns.message
import dns.rcode
import dns.rrset
import dns.tsig
import dns.update
import pytest
from django.db import transaction

from dnspanel.accounts.errors import TokenRefused
from dnspanel.accounts.models import AuditEntry, Team, User
from dnspanel.gateway import ixfr_out
from dnspanel.secondaries import members, record, secondary_catalog, set_up_secondaries
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import keys_of
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.transferred import serve_within, stop_serving
from dnspanel.zones.signing import presigned, sign
from dnspanel.zones.signing.sign import RequestedSigning
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.gateway.conftest import MakeKey, replies
from tests.dnspanel.secondaries.conftest import ADDRESS, MakeSecondary, key_of
from tests.dnspanel.secondaries.conftest import make_secondary as make_secondary
from tests.dnspanel.secondaries.conftest import secondary as secondary
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

_ids = iter(range(1, 60_000))


def transfer_question(zone_name: str, since: int | None = None, qtype: str = "") -> dns.message.Message:
    message = dns.message.make_query(zone_name, qtype or ("AXFR" if since is None else "IXFR"), flags=0)
    message.id = next(_ids)  # two queries in a second need different messages
    if since is not None:
        soa = dns.rrset.from_text(zone_name, 0, "IN", "SOA", f". . {since} 0 0 0 0")
        message.authority.append(soa)
    return message


def signed(message: dns.message.Message, key: dns.tsig.Key, at: datetime = NOW) -> bytes:
    message.use_tsig(key, algorithm=key.algorithm)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", at.timestamp)
        return message.to_wire()


def records(
    secondary: Secondary, zone_name: str = "example.test.", since: int | None = None, *, over_tcp: bool = True
) -> list[str]:
    """Return the transferred records. The signature of each message is checked."""
    query = transfer_question(zone_name, since)
    wires = replies(signed(query, key_of(secondary)), over_tcp=over_tcp, address=ADDRESS)
    found: list[str] = []
    context = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", NOW.timestamp)
        for wire in wires:
            reply = dns.message.from_wire(
                wire,
                keyring=key_of(secondary),
                request_mac=query.mac,
                xfr=True,
                tsig_ctx=context,
                multi=True,
                one_rr_per_rrset=True,
            )
            context = reply.tsig_ctx
            assert reply.rcode() == dns.rcode.NOERROR
            found += [rrset.to_text() for rrset in reply.answer]
    return found


def rcode_of(wire: bytes, **how: object) -> str:
    (reply,) = replies(wire, **{"over_tcp": True, "address": ADDRESS, **how})
    # Only the rcode. Other tests check the signature.
    return dns.rcode.to_text(dns.rcode.Rcode.make(reply[3] & 15))


def change(zone: Zone, alice: User, changes: Mapping[tuple[str, int], RRset | None]) -> Zone:
    change_rrsets(zone=zone, changes=changes, author=alice, channel=Channel.API, now=NOW, confirmed=True)
    zone.refresh_from_db()
    return zone


def put(zone: Zone, alice: User, *lines: str) -> Zone:
    rrsets = [rr(line, origin=zone.name) for line in lines]
    return change(zone, alice, {(rrset.name, rrset.type): rrset for rrset in rrsets})


def test_it_gets_the_whole_zone_and_that_is_noted(zone: Zone, secondary: Secondary) -> None:
    found = records(secondary)
    assert found[0] == found[-1]
    assert "www.example.test. 300 IN A 192.0.2.1" in found
    member = Member.objects.get()
    assert (member.transferred_serial, member.transferred_how, member.behind_since) == (zone.serial, "AXFR", None)
    assert member.transferred_bytes > 0


def test_a_zone_that_has_expired_is_given_to_nobody_until_it_comes_again(
    zone: Zone, secondary: Secondary, make_key: MakeKey, alice: User
) -> None:
    Zone.objects.filter(pk=zone.pk).update(transferred_from="192.0.2.99")
    stop_serving(zone_ids=[zone.pk], channel=Channel.TRANSFER, now=NOW, reason="expired", in_transaction=lambda _: None)
    members.note_publications(now=NOW)
    assert not Member.objects.filter(until=None).exists(), "and the catalog has it no more"
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary))) == "REFUSED"
    secondary.refresh_from_db()
    assert secondary.refused_reason.startswith("example.test. isn’t served because it has expired")
    assert rcode_of(make_key().sign(transfer_question(zone.name))) == "REFUSED"
    assert rcode_of(dns.message.make_query(zone.name, "SOA").to_wire()) == "REFUSED"
    zone.refresh_from_db()
    with transaction.atomic():
        serve_within(zone=zone, author=alice, channel=Channel.WEB, now=NOW, reason="back")
    members.note_publications(now=NOW)
    assert Member.objects.filter(until=None).count() == 1
    assert "www.example.test. 300 IN A 192.0.2.1" in records(secondary)


def test_an_ixfr_tells_what_changed_over_several_revisions_as_one(
    make_zone: MakeZone, alice: User, secondary: Secondary
) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.1", "c 300 A 192.0.2.1")
    since = zone.serial
    put(zone, alice, "a 300 A 192.0.2.2", "new 300 A 192.0.2.9")
    put(zone, alice, "a 300 A 192.0.2.3 | 192.0.2.1")
    zone = change(zone, alice, {("b.example.test.", rdtypes.A): None, ("new.example.test.", rdtypes.A): None})
    members.note_publications(now=NOW)
    new, old, *rest = records(secondary, since=since)
    assert (new.split()[6], old.split()[6]) == (str(zone.serial), str(since))
    assert rest == [
        "b.example.test. 300 IN A 192.0.2.1",
        new,
        "a.example.test. 300 IN A 192.0.2.3",
        new,
    ], "what stayed, and what came and went, is not told"
    assert Member.objects.get().transferred_how == "IXFR"


def test_one_whose_answers_differ_from_the_zone_gets_all_of_it_with_the_next_change(
    zone: Zone, alice: User, secondary: Secondary
) -> None:
    """An incremental transfer would leave the wrong records in place."""
    since = zone.serial
    record.note_comparison(member_id=Member.objects.get().pk, difference="www: it answers nothing", now=NOW)
    assert len(records(secondary, since=since)) == 1, "there is nothing new"
    zone = put(zone, alice, "a 300 A 192.0.2.2")
    assert "www.example.test. 300 IN A 192.0.2.1" in records(secondary, since=since)
    record.note_comparison(member_id=Member.objects.get().pk, difference="", now=NOW)
    assert "www.example.test. 300 IN A 192.0.2.1" not in records(secondary, since=since)


def test_another_ttl_is_another_record_and_a_disabled_one_is_gone(
    make_zone: MakeZone, alice: User, secondary: Secondary
) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.1 | 192.0.2.2")
    disabled = rr("b 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",))
    changes = {("a.example.test.", rdtypes.A): rr("a 60 A 192.0.2.1"), ("b.example.test.", rdtypes.A): disabled}
    since = zone.serial
    zone = change(zone, alice, changes)
    new, _, *rest = records(secondary, since=since)
    assert rest == [
        "a.example.test. 300 IN A 192.0.2.1",
        "b.example.test. 300 IN A 192.0.2.2",
        new,
        "a.example.test. 60 IN A 192.0.2.1",
        new,
    ]


def test_nothing_new_is_one_soa_and_a_serial_ahead_of_ours_too(zone: Zone, secondary: Secondary) -> None:
    for since in (zone.serial, zone.serial + 5):
        (soa,) = records(secondary, since=since)
        assert soa.split()[6] == str(zone.serial)
    assert Member.objects.get().transferred_at is None


def test_over_udp_an_ixfr_is_answered_by_the_soa_alone(zone: Zone, alice: User, secondary: Secondary) -> None:
    since = zone.serial
    zone = put(zone, alice, "www 300 A 192.0.2.7")
    (soa,) = records(secondary, since=since, over_tcp=False)
    assert soa.split()[6] == str(zone.serial)
    assert Member.objects.get().transferred_at is None


def test_an_unknown_serial_and_a_large_difference_get_the_whole_zone(
    make_zone: MakeZone, alice: User, secondary: Secondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(30)))
    since = zone.serial
    put(zone, alice, *(f"h{number} 300 A 192.0.2.2" for number in range(30)))
    assert len(records(secondary, since=since)) == 30 + 2 + 2, "60 records would be more than the zone"
    zone = put(zone, alice, "h1 300 A 192.0.2.3")
    assert len(records(secondary, since=zone.serial - 1)) == 2 + 4
    assert len(records(secondary, since=2**31 - 5)) == 1, "ahead, by RFC 1982"
    assert len(records(secondary, since=2**32 - 5)) == 30 + 2 + 2, "behind, and in no revision"
    monkeypatch.setattr(ixfr_out, "MOST_CHANGES", 1)
    assert len(records(secondary, since=zone.serial - 1)) == 30 + 2 + 2


def _unsign(zone: Zone) -> None:
    sign.unsign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))


def _settle(zone: Zone) -> None:
    """Unsign the zone as `dnssec: false` in API v1 and API v2 do."""
    sign.settle(zone=zone, requested=RequestedSigning(False, False, None), acting=Acting(None, Channel.SYSTEM, NOW))


def _delete_last_key(zone: Zone) -> None:
    [key] = keys_of(zone)
    sign.delete_key(zone=zone, key_id=key.id, acting=Acting(None, Channel.SYSTEM, NOW))


def _switch_last_key_off(zone: Zone) -> None:
    [key] = keys_of(zone)
    sign.set_key(zone=zone, key_id=key.id, active=False, acting=Acting(None, Channel.SYSTEM, NOW))


@pytest.mark.parametrize("nsec3", [None, Nsec3()])
@pytest.mark.parametrize("end_signing", [_unsign, _settle, _delete_last_key, _switch_last_key_off])
def test_a_zone_that_is_signed_no_more_is_given_as_a_whole(
    end_signing: Callable[[Zone], None], nsec3: Nsec3 | None, zone: Zone, alice: User, secondary: Secondary
) -> None:
    """Regression test: the incremental transfer kept DNSKEY, RRSIG and NSEC at the secondary."""
    before = zone.serial
    sign.sign(zones=[zone], nsec3=nsec3, acting=Acting(None, Channel.SYSTEM, NOW))
    zone.refresh_from_db()
    signed_serials = [zone.serial, put(zone, alice, "new 300 A 192.0.2.9").serial]
    end_signing(zone)
    zone = put(zone, alice, "www 300 A 192.0.2.7")
    members.note_publications(now=NOW)
    for since in (before, *signed_serials):
        assert records(secondary, since=since) == records(secondary)
        assert Member.objects.get(until=None).transferred_how == "AXFR"
    since = zone.serial
    put(zone, alice, "www 300 A 192.0.2.8")
    assert len(records(secondary, since=since)) == 6, "from there on what changed is told"


def test_a_zone_that_lost_the_signatures_that_it_came_with_is_given_as_a_whole(
    alice: User, make_secondary: MakeSecondary
) -> None:
    zone = presigned_zone(alice, "www 300 A 192.0.2.1", nsec3=Nsec3())
    secondary, since = make_secondary(), zone.serial
    presigned.drop_signatures(zones=[zone], acting=Acting(alice, Channel.WEB, NOW))
    members.note_publications(now=NOW)
    found = records(secondary, zone.name, since)
    assert found == records(secondary, zone.name)
    assert not {text.split()[3] for text in found} & {"RRSIG", "DNSKEY", "NSEC", "NSEC3"}


def test_a_zone_that_came_back_from_the_trash_changes_by_its_serial_alone(
    zone: Zone, alice: User, secondary: Secondary
) -> None:
    since = zone.serial
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary))) == "REFUSED"
    edit.restore_zone(zone=Zone.objects.get(pk=zone.pk), author=alice, channel=Channel.WEB, now=NOW)
    zone.refresh_from_db()
    assert zone.serial > since
    # A deletion stores no changes, so the SOA of that time is missing. A full transfer is right too.
    assert records(secondary, since=since)[0].split()[6] == str(zone.serial)


@pytest.mark.parametrize("choice", ["tag", "team", "list"])
def test_only_the_zones_that_are_chosen_are_transferred(
    choice: str, make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    team = Team.objects.create(name="Shop", created_at=NOW)
    mine, other = make_zone(name="mine.test."), make_zone(name="other.test.")
    Zone.objects.filter(pk=mine.pk).update(tags=["shop"], team=team)
    terms = {"tag": {"tag": "shop"}, "team": {"team": team.pk}, "list": {"zones": [mine.name]}}[choice]
    secondary = make_secondary(choice=choice, **terms)
    assert len(records(secondary, mine.name)) == 4
    assert rcode_of(signed(transfer_question(other.name), key_of(secondary))) == "REFUSED"
    assert list(Member.objects.values_list("zone_name", flat=True)) == [mine.name]
    secondary.refresh_from_db()
    assert (secondary.refusals, secondary.refused_reason) == (
        1,
        "other.test. isn’t one of the zones for the secondary partner.",
    )


def test_a_zone_that_the_nodes_sign_is_refused_with_the_reason(zone: Zone, alice: User, secondary: Secondary) -> None:
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary))) == "REFUSED"
    secondary.refresh_from_db()
    assert "The nodes sign" in secondary.refused_reason
    assert "The nodes sign" in Member.objects.get().refused_reason
    members.note_publications(now=NOW)
    assert Member.objects.get().until is not None, "its catalog does not list the zone any more"


def test_wrong_keys_wrong_networks_and_replays_are_refused_counted_and_audited_once(
    zone: Zone, secondary: Secondary
) -> None:
    right = key_of(secondary)
    wrong = dns.tsig.Key(right.name, b"x" * 32, right.algorithm)
    good = signed(transfer_question(zone.name), right)
    assert rcode_of(signed(transfer_question(zone.name), wrong)) == "NOTAUTH"
    assert rcode_of(signed(transfer_question(zone.name), right), address="9.9.9.10") == "NOTAUTH"
    assert rcode_of(signed(transfer_question(zone.name), right, at=NOW - timedelta(hours=1))) == "NOTAUTH"
    assert rcode_of(good) == "NOERROR"
    assert rcode_of(good) == "REFUSED"
    secondary.refresh_from_db()
    assert (secondary.refusals, secondary.refused_from) == (4, ADDRESS)
    assert secondary.refused_reason.startswith("Replayed message")
    (entry,) = AuditEntry.objects.filter(action="secondary.refused")
    assert (entry.target, entry.user) == ("partner", None)


def test_a_network_lets_its_addresses_in_and_its_server_alone_no_more(
    zone: Zone, make_secondary: MakeSecondary
) -> None:
    secondary = make_secondary(networks=["192.0.2.0/24"])
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary)), address="192.0.2.9") == "NOERROR"
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary)), address=ADDRESS) == "NOTAUTH"


def test_after_a_rotation_both_keys_are_good_for_a_day(zone: Zone, alice: User, secondary: Secondary) -> None:
    old = key_of(secondary)
    set_up_secondaries.rotate_key(secondary=secondary, by=alice, now=NOW)
    secondary.refresh_from_db()
    assert old.secret != key_of(secondary).secret
    for key in (old, key_of(secondary)):
        assert rcode_of(signed(transfer_question(zone.name), key)) == "NOERROR"
    later = NOW + set_up_secondaries.OVERLAP
    assert rcode_of(signed(transfer_question(zone.name), old, at=later), now=later) == "NOTAUTH"
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary), at=later), now=later) == "NOERROR"


def test_its_key_changes_nothing_and_a_token_key_cannot_have_its_name(
    zone: Zone, secondary: Secondary, make_key: MakeKey
) -> None:
    update = dns.update.UpdateMessage(zone.name)
    update.add("new", 60, "A", "192.0.2.77")
    assert rcode_of(signed(update, key_of(secondary))) == "REFUSED"
    with pytest.raises(TokenRefused):
        make_key("mine.secondaries.dnspanel.")


def test_one_that_is_switched_off_gets_nothing(zone: Zone, make_secondary: MakeSecondary) -> None:
    secondary = make_secondary(active=False)
    assert rcode_of(signed(transfer_question(zone.name), key_of(secondary))) == "REFUSED"


def test_its_catalog_lists_its_zones_and_changes_as_they_do(
    make_zone: MakeZone, alice: User, secondary: Secondary
) -> None:
    name = secondary_catalog.catalog_name(secondary)
    first = records(secondary, name)
    assert [line.split()[3] for line in first] == ["SOA", "NS", "TXT", "SOA"]
    one = make_zone(name="one.test.")
    make_zone(name="two.test.")
    members.note_publications(now=NOW)
    full = records(secondary, name)
    secondary.refresh_from_db()
    assert secondary.catalog_fetched == secondary.catalog_serial == int(full[0].split()[6])
    (label,) = [line.split(".")[0] for line in full if line.endswith(" one.test.")]
    new, old, *rest = records(secondary, name, since=int(first[0].split()[6]))
    assert sorted(line.split()[-1] for line in rest[1:-1]) == ["one.test.", "two.test."]
    assert (new, old) == (full[0], first[0])
    edit.delete_zone(zone=one, acting=Acting(alice, Channel.WEB, NOW))
    members.note_publications(now=NOW)
    edit.restore_zone(zone=Zone.objects.get(pk=one.pk), author=alice, channel=Channel.WEB, now=NOW)
    members.note_publications(now=NOW)
    (gone, _, come) = records(secondary, name, since=int(full[0].split()[6]))[2:-1]
    assert gone.split(".")[0] == label
    assert come.endswith(" one.test.")
    assert come.split(".")[0] != label, "a new label begins the zone anew (RFC 9432, section 5.6)"
    (soa,) = records(secondary, name, since=int(records(secondary, name)[0].split()[6]))
    assert soa.split()[3] == "SOA"


def test_a_catalog_is_for_its_secondary_alone(secondary: Secondary, make_secondary: MakeSecondary) -> None:
    other = make_secondary("other")
    name = secondary_catalog.catalog_name(secondary)
    assert rcode_of(signed(transfer_question(name), key_of(other))) == "REFUSED"
    question = dns.message.make_query(name, "SOA", flags=0)
    assert rcode_of(question.to_wire()) == "REFUSED"
    assert rcode_of(signed(question, key_of(secondary)), over_tcp=False) == "NOERROR"
