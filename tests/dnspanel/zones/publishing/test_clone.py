"""A zone cloned into new zones: names, targets, comments and tags are copied, keys are not."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import CannotClone, NameTaken, RightMissing
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import clone, revision
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import change_settings, change_soa_edit
from dnspanel.zones.store import store_rrsets
from replication.dns.rrset import RRset
from replication.errors import BadName
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone, rr
from tests.people import NOW, make_person

COPY = "copy.test."


def copied(name: str = COPY) -> dict[tuple[str, int], RRset]:
    zone = Zone.objects.get(name=name, deleted_at=None)
    return store_rrsets.rrsets_of_zones([zone.pk])[zone.pk]


def clone_to(source: Zone, author: User, *names: str, with_tags: bool = False) -> Publication:
    return clone.clone_zone(
        source=source, zone_names=names or (COPY,), acting=Acting(author, Channel.WEB, NOW), with_tags=with_tags
    )


def test_names_and_what_points_at_them_move_and_the_rest_stays(make_zone: MakeZone, alice: User) -> None:
    source = make_zone(
        "www 300 A 192.0.2.1 | 192.0.2.2",
        "shop 300 CNAME Www.Example.TEST.",
        "out 300 CNAME www.example.net.",
        "apex 300 CNAME @",
        "@ 3600 MX 10 mail | 20 mail.example.net.",
        "_sip._tcp 60 SRV 1 2 5060 www",
        "svc 60 HTTPS 1 www alpn=h2",
        'num 60 NAPTR 1 1 "u" "E2U+sip" "!^.*$!sip:a@example.test.!" www',
        "who 60 RP admin www",
        'txt 60 TXT "www.example.test. stays"',
        "sub 60 NS ns.sub",
        "ns.sub 60 A 192.0.2.3",
        "sub 60 DS 1 13 2 " + "ab" * 32,
    )
    noted = rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="of example.test.", disabled=("192.0.2.2",))
    draft.replace_rrset(author=alice, zone=source, rrset=noted, now=NOW)
    revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True, reason="x"))
    source.refresh_from_db()
    publication = clone_to(source, alice)
    found = copied()
    expected = [
        rr("shop 300 CNAME Www", origin=COPY),
        rr("out 300 CNAME www.example.net.", origin=COPY),
        rr("apex 300 CNAME @", origin=COPY),
        rr("@ 3600 MX 10 mail | 20 mail.example.net.", origin=COPY),
        rr("_sip._tcp 60 SRV 1 2 5060 www", origin=COPY),
        rr("svc 60 HTTPS 1 www alpn=h2", origin=COPY),
        rr('num 60 NAPTR 1 1 "u" "E2U+sip" "!^.*$!sip:a@example.test.!" www', origin=COPY),
        rr("who 60 RP admin www", origin=COPY),
        rr('txt 60 TXT "www.example.test. stays"', origin=COPY),
        rr("sub 60 NS ns.sub", origin=COPY),
        rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="of example.test.", disabled=("192.0.2.2",), origin=COPY),
    ]
    assert [found[rrset.name, rrset.type] for rrset in expected] == expected
    assert not {type_ for _, type_ in found} & {43, 46}
    [made] = publication.revisions.all()
    assert (made.number, made.added) == (1, len(found))


def test_the_copy_has_a_serial_and_settings_of_its_own(make_zone: MakeZone, alice: User) -> None:
    source = make_zone()
    change_settings(zone=source, tags=["eu", "shop"], team=None, author=alice, now=NOW)
    change_soa_edit(zone=source, api="EPOCH", author=alice, now=NOW)
    source.refresh_from_db()
    clone_to(source, alice, COPY, "other.test.", with_tags=True)
    made = Zone.objects.get(name=COPY)
    assert (made.tags, made.soa_edit_api) == (["eu", "shop"], "EPOCH")
    assert made.serial != source.serial
    clone_to(source, alice, "bare.test.")
    assert Zone.objects.get(name="bare.test.").tags == []


def test_signatures_and_keys_are_left_out(alice: User) -> None:
    source = presigned_zone(alice, "www 300 A 192.0.2.1")
    content = clone.content_for_clones(source=source, author=alice)
    assert set(content.left_out) == {46, 48}
    clone_to(source, alice)
    assert {type_ for _, type_ in copied()} == {1, 2, 6}


def test_the_source_must_be_readable_and_the_new_zone_allowed(make_zone: MakeZone, bob: User, charlie: User) -> None:
    source = make_zone("www 300 A 192.0.2.1")
    with pytest.raises(RightMissing) as refused:
        clone_to(source, charlie)
    assert refused.value.right == Right.CREATE_ZONE
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ, Right.CREATE_ZONE}), zones=frozenset({source.pk + 1}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    assert not access.has_right(mia, source, Right.READ)
    with pytest.raises(RightMissing) as refused:
        clone_to(source, mia)
    assert refused.value.right == Right.READ
    with pytest.raises(NameTaken):
        clone_to(source, bob, "example.test.")
    assert Zone.objects.count() == 1


def test_too_much_and_too_long_names_are_refused(
    make_zone: MakeZone, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_zone("a" * 63 + "." + "b" * 63 + " 300 A 192.0.2.1")
    with pytest.raises(BadName):
        clone_to(source, alice, ".".join(["c" * 60] * 3) + ".")
    monkeypatch.setattr(clone, "MOST_CLONED", 5)
    with pytest.raises(CannotClone, match="can have at most 5"):
        clone_to(source, alice, COPY, "other.test.")
