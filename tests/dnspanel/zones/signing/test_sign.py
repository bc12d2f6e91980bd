"""Signing and unsigning zones, and adding and removing keys, by people with the right.

Tests `log.signing_log`, `signing.guarded` and `dnssec.queries` too.
"""

from collections.abc import Callable

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Author, Grant, Right
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.signing_state import KeyRole
from dnspanel.zones.errors import BadKey, DnssecRefused, KeyUnknown, RightMissing, Unknown
from dnspanel.zones.models import Publication, Signing, SigningChange, Zone, ZoneKey
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def by(author: Author, reason: str = "") -> Acting:
    return Acting(author=author, channel="web", now=NOW, reason=reason)


def test_a_zone_is_signed_by_one_act_and_one_publication(zone: Zone, alice: User) -> None:
    before = Publication.objects.count()
    [publication] = sign.sign(zones=[zone], acting=by(alice, "new policy"))
    assert Publication.objects.count() == before + 1
    assert publication.reason == "new policy"
    [key] = queries.keys_of(zone)
    assert (key.role, key.algorithm, key.flags, key.active, key.published) == (KeyRole.CSK, 13, 257, True, True)
    assert [text.split()[2] for text in key.ds] == ["2", "4"]
    zone.refresh_from_db()
    assert (zone.serial, zone.revision) == (2, 2)
    assert Signing.objects.get().is_signed
    change = SigningChange.objects.get()
    assert (change.revision_number, change.before) == (2, None)
    entry = AuditEntry.objects.get(action="dnssec.sign")
    assert (entry.target, entry.details["keys"]) == (zone.name, [key.id])


def test_what_is_so_already_is_not_published(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    assert sign.sign(zones=[zone], acting=by(alice)) == []
    assert sign.set_denial(zone=zone, nsec3=None, acting=by(alice)) == []
    assert ZoneKey.objects.count() == 1


def test_a_ksk_and_a_zsk_share_the_work(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice), split=True, algorithm=15)
    ksk, zsk = queries.keys_of(zone)
    assert (ksk.role, zsk.role) == (KeyRole.KSK, KeyRole.ZSK)
    assert ksk.ds
    assert not zsk.ds


def test_private_parts_are_encrypted_and_in_no_log(zone: Zone, alice: User, caplog: pytest.LogCaptureFixture) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    [key] = ZoneKey.objects.all()
    text = sign.export_key(zone=zone, key_id=key.pk, by=alice, now=NOW)
    secret = text.split("PrivateKey: ")[1].strip()
    assert secret.encode() not in bytes(key.private_encrypted or b"")
    assert secret not in caplog.text
    assert secret not in str([entry.details for entry in AuditEntry.objects.all()])
    assert AuditEntry.objects.filter(action="dnssec.key_export", user=alice).exists()


def test_a_key_that_was_imported_is_the_same_key(zone: Zone, alice: User) -> None:
    pair = key_material.generate(8)
    key = sign.add_key(zone=zone, acting=by(alice), texts=sign.KeyTexts(pair.private_text))
    [view] = queries.keys_of(zone)
    assert view.dnskey == key_material.dnskey_text(257, 8, pair.public)
    assert sign.export_key(zone=zone, key_id=key.pk, by=alice, now=NOW) == pair.private_text
    with pytest.raises(DnssecRefused, match="already"):
        sign.add_key(zone=zone, acting=by(alice), texts=sign.KeyTexts(pair.private_text))
    with pytest.raises(BadKey):
        sign.add_key(zone=zone, acting=by(alice), texts=sign.KeyTexts("nothing"))


def test_keys_are_activated_hidden_and_deleted(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    key = sign.add_key(zone=zone, acting=by(alice), flags=256, active=False)
    sign.set_key(zone=zone, key_id=key.pk, active=True, published=True, acting=by(alice))
    assert [each.role for each in queries.keys_of(zone)] == [KeyRole.KSK, KeyRole.ZSK]
    sign.delete_key(zone=zone, key_id=key.pk, acting=by(alice))
    assert [each.id for each in queries.keys_of(zone)] != [key.pk]
    with pytest.raises(KeyUnknown):
        sign.delete_key(zone=zone, key_id=key.pk, acting=by(alice))
    with pytest.raises(KeyUnknown):
        sign.set_key(zone=zone, key_id=key.pk, active=True, published=True, acting=by(alice))


def test_a_deleted_key_is_forgotten_for_good_after_a_day(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    sign.unsign(zones=[zone], acting=by(alice))
    assert sign.forget_deleted_keys(now=NOW) == 0
    assert sign.forget_deleted_keys(now=NOW + 2 * sign.KEPT_AFTER_DELETION) == 1
    assert ZoneKey.objects.get().private_encrypted is None
    with pytest.raises(KeyUnknown):
        sign.export_key(zone=zone, key_id=ZoneKey.objects.get().pk, by=alice, now=NOW)


def test_denial_and_cds_need_keys_and_sound_parameters(zone: Zone, alice: User) -> None:
    with pytest.raises(DnssecRefused, match="not signed"):
        sign.set_denial(zone=zone, nsec3=Nsec3(), acting=by(alice))
    with pytest.raises(DnssecRefused, match="not signed"):
        sign.set_cds(zone=zone, cds="2", cdnskey=True, acting=by(alice))
    sign.sign(zones=[zone], acting=by(alice))
    sign.set_denial(zone=zone, nsec3=Nsec3(opt_out=True), acting=by(alice))
    sign.set_cds(zone=zone, cds="2, 4", cdnskey=True, acting=by(alice))
    assert queries.signing_of(zone).metadata == {"NSEC3PARAM": "1 1 0 -", "PUBLISH-CDS": "2,4", "PUBLISH-CDNSKEY": "1"}
    for nsec3 in (Nsec3(101), Nsec3(0, bytes(33))):
        with pytest.raises(DnssecRefused, match="NSEC3"):
            sign.set_denial(zone=zone, nsec3=nsec3, acting=by(alice))
    with pytest.raises(DnssecRefused, match="CDS"):
        sign.set_cds(zone=zone, cds="3", cdnskey=False, acting=by(alice))


def test_a_zone_has_so_many_keys_and_no_more(zone: Zone, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign, "MOST_KEYS", 2)
    sign.sign(zones=[zone], acting=by(alice), split=True)
    with pytest.raises(DnssecRefused, match="2 keys"):
        sign.add_key(zone=zone, acting=by(alice))
    assert ZoneKey.objects.count() == 2


Act = Callable[[Zone, Author], object]
ACTS: dict[str, Act] = {
    "sign": lambda zone, who: sign.sign(zones=[zone], acting=by(who)),
    "unsign": lambda zone, who: sign.unsign(zones=[zone], acting=by(who)),
    "denial": lambda zone, who: sign.set_denial(zone=zone, nsec3=Nsec3(), acting=by(who)),
    "add": lambda zone, who: sign.add_key(zone=zone, acting=by(who)),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_only_who_has_the_right_changes_how_a_zone_is_signed(zone: Zone, alice: User, act: Act) -> None:
    actor = token_actor(alice, Grant(EVERY_RIGHT - {Right.DNSSEC}, everywhere=True))
    with pytest.raises(RightMissing, match="permission to sign"):
        act(zone, actor)
    assert not Signing.objects.exists()
    assert not ZoneKey.objects.exists()


def test_a_private_key_leaves_only_for_who_was_given_that_by_name(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=by(alice))
    key = ZoneKey.objects.get()
    with pytest.raises(RightMissing, match="private keys"):
        sign.export_key(zone=zone, key_id=key.pk, by=token_actor(alice, Grant(EVERY_RIGHT, everywhere=True)), now=NOW)
    may = token_actor(alice, Grant(frozenset({Right.READ, Right.EXPORT_KEYS}), everywhere=True))
    assert sign.export_key(zone=zone, key_id=key.pk, by=may, now=NOW)


def test_a_zone_that_is_gone_is_not_signed(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    with pytest.raises(Unknown):
        sign.sign(zones=[zone], acting=by(alice))
