"""A withdrawn publication: it is undone and marked, and can become a draft again."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.api.waiting import is_everywhere
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import CannotUndo, TakenBack
from dnspanel.zones.models import Channel, Operation, Publication, Rollover, SigningChange, Zone, ZoneKey
from dnspanel.zones.publishing import bulk, edit, failed, pieces, ready_zones, zone_patches
from dnspanel.zones.signing import rollovers, sign
from replication.codec.dnssec import Nsec3
from replication.dns import rrset
from tests.dnspanel.zones.conftest import token_actor
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = ("www", "mail")
WWW, MAIL = ("www.z.test.", 1), ("mail.z.test.", 1)
REASON = "PowerDNS failed to answer a query for www.z.test. A: SERVFAIL."


@pytest.fixture
def alice() -> User:
    return make_person("alice", role="administrator")


@pytest.fixture(autouse=True)
def zone(alice: User) -> Zone:
    rrsets = [rrset.make(*WWW, 60, ["192.0.2.1"])]
    edit.create_zone(zone=edit.NewZone("z.test.", rrsets), acting=Acting(alice, Channel.WEB, timezone.now()))
    return Zone.objects.get()


def change(changes: dict[tuple[str, int], str | None], author: User | None = None) -> Publication:
    zone = Zone.objects.get(name="z.test.")
    wanted = {key: rrset.make(*key, 60, [value]) if value else None for key, value in changes.items()}
    publication, _ = bulk.change_zones(
        changes=[bulk.ZoneChange(zone.pk, zone.revision, wanted)],
        acting=Acting(author, Channel.WEB, timezone.now()),
    )
    assert publication is not None
    return publication


def take_back(publication: Publication) -> Publication | None:
    return failed.take_back(
        sequence=publication.sequence, reason=REASON, now=timezone.now(), in_transaction=ready_zones.nothing
    )


def values(name: str = WWW[0]) -> list[str]:
    return [text for row in Zone.objects.get(name="z.test.").rrsets.filter(name=name) for text in row.rdata]


def test_changes_are_taken_back_by_the_panel_with_the_reason_in_words() -> None:
    bad = change({WWW: "192.0.2.2", MAIL: "192.0.2.3"})
    inverse = take_back(bad)
    assert inverse is not None
    assert (inverse.author, inverse.channel) == (None, Channel.SYSTEM)
    assert inverse.reason == f"Publication {bad.sequence} was reverted: {REASON}"
    assert Publication.objects.get(sequence=bad.sequence).failed_reason == REASON
    assert (values(), values(MAIL[0])) == (["192.0.2.1"], [])


def test_it_is_said_of_the_last_piece_of_a_large_change_that_an_earlier_one_was_taken_back(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 2)
    zone = Zone.objects.get()
    steps = [((f"h{number}.z.test.", 1), rrset.make(f"h{number}.z.test.", 1, 60, ["192.0.2.9"])) for number in range(6)]
    patch = zone_patches.Patch(zone, lambda current: dict(steps), {name for (name, _), _ in steps})
    outcome = zone_patches.publish_patches(patches=[patch], acting=Acting(alice, Channel.API, timezone.now()))
    last = outcome.publication
    assert last is not None
    failed.raise_if_taken_back(last)
    other = change({MAIL: "192.0.2.3"})
    take_back(Publication.objects.get(sequence=last.sequence - 1))
    with pytest.raises(TakenBack) as raised:
        failed.raise_if_taken_back(last)
    assert (raised.value.sequence, raised.value.reason) == (last.sequence - 1, REASON)
    with pytest.raises(TakenBack):
        is_everywhere(last)
    failed.raise_if_taken_back(other)


def test_what_was_published_at_the_same_time_is_no_part_of_what_was_taken_back() -> None:
    # Previously two publications of one request at the same time were taken for parts of one write.
    now = timezone.now()
    bad, other = change({WWW: "192.0.2.2"}), change({MAIL: "192.0.2.3"})
    Publication.objects.filter(pk__in=[bad.pk, other.pk]).update(at=now)
    take_back(bad)
    failed.raise_if_taken_back(other)
    assert is_everywhere(other) is None


def test_what_others_changed_since_stays() -> None:
    bad = change({WWW: "192.0.2.2", MAIL: "192.0.2.3"})
    change({WWW: "192.0.2.9"})
    take_back(bad)
    assert (values(), values(MAIL[0])) == (["192.0.2.9"], [])


def test_where_nothing_is_left_there_is_neither_a_publication_nor_a_mark() -> None:
    bad = change({WWW: "192.0.2.2"})
    change({WWW: "192.0.2.9"})
    assert take_back(bad) is None
    assert Publication.objects.get(sequence=bad.sequence).failed_reason == ""


def test_a_zone_that_it_brought_is_in_the_trash(alice: User) -> None:
    brought = edit.create_zone(zone=edit.NewZone("new.test."), acting=Acting(alice, Channel.WEB, timezone.now()))
    inverse = take_back(brought)
    assert inverse is not None
    assert Zone.objects.get(name="new.test.").deleted_at is not None
    assert Publication.objects.get(sequence=brought.sequence).failed_reason == REASON


def test_taken_back_and_marked_is_one_transaction_with_what_runs_beside() -> None:
    bad = change({WWW: "192.0.2.2"})

    def breaks(_: Publication) -> None:
        raise RuntimeError("the power is gone")

    with pytest.raises(RuntimeError):
        failed.take_back(sequence=bad.sequence, reason=REASON, now=timezone.now(), in_transaction=breaks)
    assert values() == ["192.0.2.2"]
    assert Publication.objects.get(sequence=bad.sequence).failed_reason == ""


def test_its_author_gets_it_back_as_a_draft(alice: User) -> None:
    bad = change({WWW: "192.0.2.2"}, author=alice)
    take_back(bad)
    failed.draft_again(publication=bad, author=alice, now=timezone.now())
    (operation,) = Operation.objects.all()
    assert (operation.name, operation.wanted["rdata"], operation.base["rdata"]) == (
        WWW[0],
        ["192.0.2.2"],
        ["192.0.2.1"],
    )


@pytest.fixture
def bad_in_three_zones(alice: User) -> Publication:
    """Return a reverted publication that changed z.test., other.test. and secret.test., with two RRsets in each."""
    acting = Acting(alice, Channel.WEB, timezone.now())
    for name in ("other.test.", "secret.test."):
        edit.create_zone(zone=edit.NewZone(name, [rrset.make(f"www.{name}", 1, 60, ["192.0.2.1"])]), acting=acting)
    changes = [
        bulk.ZoneChange(
            each.pk,
            each.revision,
            {(f"{host}.{each.name}", 1): rrset.make(f"{host}.{each.name}", 1, 60, ["192.0.2.2"]) for host in HOSTS},
        )
        for each in Zone.objects.all()
    ]
    bad, _ = bulk.change_zones(changes=changes, acting=acting)
    assert bad is not None
    take_back(bad)
    return bad


def member(*grants: Grant) -> User:
    mia = make_person("mia", Role.MEMBER)
    for grant in grants:
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=timezone.now())
    return mia


def of_zone(name: str, rights: frozenset[Right], *names: str) -> Grant:
    return Grant(rights, zones=frozenset({Zone.objects.get(name=name).pk}), names=names)


def test_only_changes_that_the_author_may_see_and_make_are_drafted_again(bad_in_three_zones: Publication) -> None:
    read = frozenset({Right.READ})
    mia = member(of_zone("z.test.", RECORD_RIGHTS | read, "www"), of_zone("other.test.", read))
    assert failed.draft_again(publication=bad_in_three_zones, author=mia, now=timezone.now()) is False
    assert list(Operation.objects.values_list("name", flat=True)) == ["www.z.test."]


def test_without_rights_nothing_is_drafted_again(bad_in_three_zones: Publication, alice: User) -> None:
    mia = member(of_zone("other.test.", frozenset({Right.READ})))
    with pytest.raises(CannotUndo, match="You aren’t allowed"):
        failed.draft_again(publication=bad_in_three_zones, author=mia, now=timezone.now())
    assert not Operation.objects.exists()


def test_a_token_drafts_only_rrsets_that_it_can_see(bad_in_three_zones: Publication, alice: User) -> None:
    blind = Grant(RECORD_RIGHTS, everywhere=True)
    seeing = Grant(frozenset({Right.READ}), everywhere=True, names=("mail",))
    token = token_actor(alice, blind, seeing)
    assert failed.draft_again(publication=bad_in_three_zones, author=token, now=timezone.now()) is False
    assert set(Operation.objects.values_list("name", flat=True)) == {
        "mail.z.test.",
        "mail.other.test.",
        "mail.secret.test.",
    }


def test_a_clash_in_one_zone_leaves_the_draft_as_it_was(bad_in_three_zones: Publication, alice: User) -> None:
    zone = Zone.objects.get(name="z.test.")
    draft.replace_rrset(author=alice, zone=zone, rrset=rrset.make(*WWW, 60, ["192.0.2.3"]), now=timezone.now())
    with pytest.raises(CannotUndo, match="Your draft already changes A www"):
        failed.draft_again(publication=bad_in_three_zones, author=alice, now=timezone.now())
    assert Operation.objects.get().wanted["rdata"] == ["192.0.2.3"]
    draft.drop_operation(author=alice, zone=zone, name=WWW[0], type=WWW[1])
    assert failed.draft_again(publication=bad_in_three_zones, author=alice, now=timezone.now()) is True
    assert Operation.objects.count() == 6


def test_a_zone_that_it_brought_is_no_draft(alice: User) -> None:
    brought = edit.create_zone(zone=edit.NewZone("new.test."), acting=Acting(alice, Channel.WEB, timezone.now()))
    take_back(brought)
    with pytest.raises(CannotUndo, match="in the trash"):
        failed.draft_again(publication=brought, author=alice, now=timezone.now())


def acting() -> Acting:
    return Acting(None, Channel.SYSTEM, timezone.now())


def take_signing_back(after: Publication, up_to: Publication) -> tuple[Publication | None, list[int]]:
    found: list[int] = []
    inverse = failed.take_back_signing(
        zone=Zone.objects.get(),
        after=after.sequence,
        up_to=up_to.sequence,
        reason=REASON,
        now=timezone.now(),
        in_transaction=lambda _, sequence: found.append(sequence),
    )
    return inverse, found


def test_a_zone_is_signed_as_it_was_before_the_first_that_changed_it(zone: Zone) -> None:
    [signed] = sign.sign(zones=[zone], acting=acting())
    good = queries.signing_of(zone)
    rollovers.begin(zone=zone, kind=Kind.CSK, acting=acting())
    Rollover.objects.update(ended_at=timezone.now())
    [bad] = sign.delete_key(zone=zone, key_id=good.keys[0].id, acting=acting())
    later = change({WWW: "192.0.2.2"})
    Rollover.objects.update(ended_at=None)
    inverse, marked = take_signing_back(signed, later)
    assert inverse is not None
    assert queries.signing_of(zone).keys == good.keys
    assert marked == [signed.sequence + 1]
    assert [p.sequence for p in Publication.objects.exclude(failed_reason="")] == marked
    assert bad.sequence == signed.sequence + 2
    assert [key.pk for key in ZoneKey.objects.filter(deleted_at=None)] == [good.keys[0].id]
    assert Rollover.objects.get().is_cancelled
    assert values() == ["192.0.2.2"]  # other people's changes remain


def test_the_way_back_to_another_nsec3_chain_leads_over_nsec_to_its_end(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    [salted] = sign.set_denial(zone=zone, nsec3=Nsec3(salt=b"\xab"), acting=acting())
    good = queries.signing_of(zone)
    to_nsec, to_other = sign.set_denial(zone=zone, nsec3=Nsec3(iterations=1), acting=acting())
    inverse, marked = take_signing_back(salted, to_other)
    assert inverse is not None
    assert marked == [to_nsec.sequence]
    assert queries.signing_of(zone) == good
    states = SigningChange.objects.filter(zone=zone).order_by("revision_number")
    denials = [SigningState.from_json(each.after).denial for each in states]
    assert denials[-5:] == [Nsec3(salt=b"\xab"), None, Nsec3(iterations=1), None, Nsec3(salt=b"\xab")]
    last = Publication.objects.latest("sequence")
    assert last.sequence == inverse.sequence + 1
    assert last.reason == inverse.reason


def test_a_signing_that_nobody_changed_is_not_taken_back(zone: Zone) -> None:
    [signed] = sign.sign(zones=[zone], acting=acting())
    assert take_signing_back(signed, change({WWW: "192.0.2.2"})) == (None, [])
    assert Publication.objects.filter(failed_reason="").count() == Publication.objects.count()


def test_keys_without_their_private_part_do_not_come_back(zone: Zone) -> None:
    [signed] = sign.sign(zones=[zone], acting=acting())
    [bad] = sign.unsign(zones=[zone], acting=acting())
    ZoneKey.objects.update(private_encrypted=None)
    assert take_signing_back(signed, bad) == (None, [])
    assert ZoneKey.objects.get().deleted_at is not None
