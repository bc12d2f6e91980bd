"""Sign and unsign zones, change how they are signed, and manage their keys. Verbs.

Keys are generated and stored in the transaction that publishes them. Private parts are encrypted with PANEL_MASTER_KEY.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_files, key_material, queries
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.dnssec.wildcard_cuts import refuse_to_sign
from dnspanel.zones.errors import DnssecRefused, KeyUnknown, NotSigned
from dnspanel.zones.log.sequence_log import InTransaction, nothing
from dnspanel.zones.log.signing_log import key_row, sign_within
from dnspanel.zones.models import Publication, Revision, SigningChange, Zone, ZoneKey
from dnspanel.zones.signing.guarded import change_guarded
from replication.codec.dnssec import Nsec3
from replication.dns.names import before_full_stop

MOST_KEYS = 20
KEPT_AFTER_DELETION = timedelta(days=1)
MOST_ITERATIONS, LONGEST_SALT = 100, 32
DIGEST_LIST = frozenset(("0", "1", "2", "4"))


@dataclass(frozen=True, slots=True)
class NewKeys:
    """The first keys of a zone: one CSK, or a KSK and a ZSK (`split`)."""

    algorithm: int = key_material.DEFAULT_ALGORITHM
    bits: int | None = None
    split: bool = False

    @property
    def flags(self) -> tuple[int, ...]:
        """The DNSKEY flags of each new key."""
        return (key_material.KSK_FLAGS, key_material.ZSK_FLAGS) if self.split else (key_material.KSK_FLAGS,)


@dataclass(frozen=True, slots=True)
class RequestedSigning:
    """The requested signing of a zone. None means no change. `nsec3` counts only if `sets_denial` is true."""

    signed: bool | None = None
    sets_denial: bool = False
    nsec3: Nsec3 | None = None  # if `sets_denial`; None: NSEC
    cds: str | None = None  # as in `set_cds`
    cdnskey: bool | None = None
    new_keys: NewKeys = NewKeys()  # for an unsigned zone

    def is_met_by(self, state: SigningState) -> bool:
        """Return True if this signing state already meets the request."""
        if self.signed not in (None, state.is_signed):
            return False
        if self.cds not in (None, state.cds) or self.cdnskey not in (None, state.cdnskey):
            return False
        return not self.sets_denial or (self.nsec3 == state.denial and state.due_nsec3 is None)

    def of(self, zone: Zone, state: SigningState, keys_made: Sequence[KeyState]) -> SigningState:
        """Return the signing state that meets the request. `keys_made` has the new keys for an unsigned zone.

        Raise NotSigned for NSEC3, CDS or CDNSKEY in a zone without keys, and DnssecRefused for too many keys.
        """
        after = state
        if self.signed is True and not state.is_signed:
            if len(state.keys) + len(keys_made) > MOST_KEYS:
                raise DnssecRefused(
                    gettext("{name} already has {keys} of at most {most_keys} keys.").format(
                        name=zone.name, keys=len(state.keys), most_keys=MOST_KEYS
                    )
                )
            for key in keys_made:
                after = after.with_key(key)
        elif self.signed is False and state.is_signed:
            after = SigningState(row_ids=state.row_ids)
        if not after.keys and (self.cds or self.cdnskey):
            raise NotSigned(zone.name)
        if self.sets_denial:
            if self.nsec3 is not None and not after.is_signed:
                raise NotSigned(zone.name)
            after = after.with_denial(self.nsec3)
        if after.keys and self.cds is not None:
            after = replace(after, cds=digest_list(self.cds))
        return after if not after.keys or self.cdnskey is None else replace(after, cdnskey=self.cdnskey)


def sign(
    *,
    zones: Sequence[Zone],
    acting: Acting,
    algorithm: int = key_material.DEFAULT_ALGORITHM,
    bits: int | None = None,
    split: bool = False,
    nsec3: Nsec3 | None = None,
) -> list[Publication]:
    """Sign each zone with new keys: one CSK, or a KSK and a ZSK (`split`). Return the publications.

    Signed zones don't change. Raise BadKey, DnssecRefused for bad NSEC3, or the errors of `change_guarded`.
    """
    refuse_nsec3(nsec3)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if state.is_signed:
            return state
        signed = state.with_denial(nsec3)
        for flags in (key_material.KSK_FLAGS, key_material.ZSK_FLAGS) if split else (key_material.KSK_FLAGS,):
            signed = _with_new_key(zone, signed, acting, flags, algorithm, bits)
        return signed

    return change_guarded(zones, decide, acting, "dnssec.sign")


def sign_new_zone(*, name: str, nsec3: Nsec3 | None, acting: Acting) -> Publication:
    """Sign a zone that the open transaction has created, with a new default key. Call this as the last step.

    A zone that is already signed because of its policy keeps its keys, and its NSEC3, if any. Raise RightMissing if the
    author isn't allowed to sign the zone, and DnssecRefused for insecure NSEC3 parameters or a delegated wildcard.
    """
    refuse_nsec3(nsec3)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if state.is_signed:
            return state.with_denial(state.nsec3 or nsec3)
        refuse_to_sign(zone)
        return _with_new_key(zone, state.with_denial(nsec3), acting)

    zone = Zone.objects.get(name=name, deleted_at=None)
    publication = sign_within(zone=zone, decide=decide, acting=acting, action="dnssec.sign")
    return publication or Publication.objects.get(pk=zone.sequence)


def settle(
    *, zone: Zone, requested: RequestedSigning, acting: Acting, in_transaction: InTransaction = nothing
) -> list[Publication]:
    """Sign or unsign the zone as requested, and set the requested denial of existence, CDS and CDNSKEY.

    Return the publications. An unsigned zone gets new keys. `in_transaction` runs in the same transaction, even if
    nothing changes. Raise NotSigned for NSEC3, CDS or CDNSKEY in a zone that stays unsigned, and the errors of `sign`,
    `unsign` and `set_denial`.
    """
    return settle_zones(zones=[zone], requested=requested, acting=acting, in_transaction=in_transaction)


def settle_zones(
    *, zones: Sequence[Zone], requested: RequestedSigning, acting: Acting, in_transaction: InTransaction = nothing
) -> list[Publication]:
    """Sign or unsign many zones as requested. If any zone fails, change none. See `settle`."""
    refuse_nsec3(requested.nsec3)
    if requested.cds is not None:
        digest_list(requested.cds)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        new: list[KeyState] = []
        if requested.signed is True and not state.is_signed:
            new = _new_keys(zone, requested.new_keys, acting)
        after = requested.of(zone, state, new)
        if state.keys and not after.keys:
            _forget(zone, [key.id for key in state.keys], acting)
        return after

    return change_guarded(zones, decide, acting, "dnssec.settle", in_transaction)


def _new_keys(zone: Zone, new_keys: NewKeys, acting: Acting) -> list[KeyState]:
    pairs = [(flags, key_material.generate(new_keys.algorithm, new_keys.bits)) for flags in new_keys.flags]
    return [KeyState(_store(zone, flags, pair, acting).pk, pair.algorithm, flags) for flags, pair in pairs]


def unsign(*, zones: Sequence[Zone], acting: Acting) -> list[Publication]:
    """Stop signing the zones and delete their keys (permanently after KEPT_AFTER_DELETION). Return the publications.

    Raise the errors of `change_guarded`, such as DnssecRefused if a parent zone in this panel has a zone's DS. A person
    has to check that parent zones outside the panel have no DS.
    """
    return change_guarded(zones, lambda zone, state: _without_keys(zone, state, acting), acting, "dnssec.unsign")


def set_denial(*, zone: Zone, nsec3: Nsec3 | None, acting: Acting) -> list[Publication]:
    """Set the zone's denial of existence to NSEC3 with these parameters, or to NSEC (None). Return the publications.

    Raise NotSigned if the zone has no keys, DnssecRefused for insecure parameters (RFC 9276), and the errors of
    `change_guarded`.
    """
    refuse_nsec3(nsec3)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if not state.keys:
            raise NotSigned(zone.name)
        return state.with_denial(nsec3)

    return change_guarded([zone], decide, acting, "dnssec.denial")


def set_cds(
    *,
    zone: Zone,
    acting: Acting,
    cds: str | None = None,
    cdnskey: bool | None = None,
    in_transaction: InTransaction = nothing,
) -> list[Publication]:
    """Set the digest types of the zone's CDS records, and enable or disable CDNSKEY records (RFC 7344, RFC 8078).

    `cds` is "2" or "2,4", "0" to request deletion of the DS, or "" for no CDS. None keeps a setting. `in_transaction`
    runs in the same transaction, even if nothing changes. Raise NotSigned if the zone has no keys, DnssecRefused for a
    bad `cds`, and the errors of `change_guarded`.
    """
    digests = None if cds is None else digest_list(cds)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if not state.keys:
            raise NotSigned(zone.name)
        after = state if digests is None else replace(state, cds=digests)
        return after if cdnskey is None else replace(after, cdnskey=cdnskey)

    return change_guarded([zone], decide, acting, "dnssec.cds", in_transaction)


def digest_list(cds: str) -> str:
    """Return CDS digest types as stored: "2,4", "0" (delete the DS) or "" (no CDS). Raise DnssecRefused if invalid."""
    if cds and not set(cds.replace(" ", "").split(",")) <= DIGEST_LIST:
        raise DnssecRefused(gettext("CDS digest types must be 1, 2 or 4, or 0 to request that the DS be deleted."))
    return cds.replace(" ", "")


@dataclass(frozen=True, slots=True)
class KeyTexts:
    """An existing key in text form: its private key, and its `.key` file from BIND."""

    private_text: str | None = None
    public_text: str | None = None


def add_key(  # noqa: PLR0913  # the fields of a key
    *,
    zone: Zone,
    acting: Acting,
    flags: int = key_material.KSK_FLAGS,
    algorithm: int = key_material.DEFAULT_ALGORITHM,
    bits: int | None = None,
    texts: KeyTexts = KeyTexts(),
    active: bool = True,
    published: bool = True,
) -> ZoneKey:
    """Add a new key, or the key in `texts`, to the zone. Return the key.

    If `texts` has a `.key` file, the file determines the flags. Raise BadKey if the key is invalid, and BadPublicKey if
    the file does not belong to the private key or to the zone. Raise DnssecRefused if the zone already has the key or
    too many keys, or if the form was sent before for something else. Also raise the errors of `change_guarded`.
    """
    private_text, public_text = texts.private_text, texts.public_text
    pair = key_material.generate(algorithm, bits) if private_text is None else key_material.read(private_text)
    if public_text is not None:
        flags = key_files.flags_of(key_files.read_public(public_text), zone_name=zone.name, pair=pair)

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if len(state.keys) >= MOST_KEYS:
            raise DnssecRefused(
                gettext("{name} already has {most_keys} keys.").format(name=zone.name, most_keys=MOST_KEYS)
            )
        same = ZoneKey.objects.filter(zone=zone, deleted_at=None, algorithm=pair.algorithm, public=pair.public)
        if same.exists():
            raise DnssecRefused(gettext("{name} already has this key.").format(name=zone.name))
        key = _store(zone, flags, pair, acting)
        return state.with_key(KeyState(key.pk, pair.algorithm, flags, active, published))

    [publication] = change_guarded([zone], decide, acting, "dnssec.key_add")
    return _key_added_by(publication, zone)


def _key_added_by(publication: Publication, zone: Zone) -> ZoneKey:
    """Return the key that this publication added to the zone.

    If the same form is sent twice, this is the first submission's key. Raise DnssecRefused if the publication added no
    key.
    """
    numbers = Revision.objects.filter(publication=publication.pk, zone=zone).values("number")
    change = SigningChange.objects.filter(zone=zone, revision_number__in=numbers).first()
    before = SigningState.from_json(change.before if change else None)
    after = SigningState.from_json(change.after if change else None)
    new = [each.id for each in after.keys if before.key(each.id) is None]
    key = ZoneKey.objects.filter(pk__in=new).first()
    if key is None:
        raise DnssecRefused(
            gettext(
                "This form has already been used for something other than a key for {name}. Reload the page and "
                "try again."
            ).format(name=before_full_stop(zone.name))
        )
    return key


def set_key(
    *,
    zone: Zone,
    key_id: int,
    acting: Acting,
    active: bool | None = None,
    published: bool | None = None,
    in_transaction: InTransaction = nothing,
) -> list[Publication]:
    """Set `active` (the key signs) and `published` (it is in the DNSKEY RRset) of a key. None means no change.

    Return the publications. `in_transaction` runs first, in the same transaction. Raise KeyUnknown if the zone doesn't
    have the key, and the errors of `change_guarded`.
    """

    def decide(zone: Zone, state: SigningState) -> SigningState:
        key = state.key(key_id)
        if key is None:
            raise KeyUnknown(zone.name, key_id)
        return state.with_key(
            replace(
                key,
                active=key.active if active is None else active,
                published=key.published if published is None else published,
            )
        )

    return change_guarded([zone], decide, acting, "dnssec.key_set", in_transaction)


def delete_key(
    *, zone: Zone, key_id: int, acting: Acting, in_transaction: InTransaction = nothing
) -> list[Publication]:
    """Delete a key of the zone. Its private part is deleted after KEPT_AFTER_DELETION. Return the publications.

    Nodes delete the key with the publication. Only an exported key can be added again. `in_transaction` runs first, in
    the same transaction. Raise KeyUnknown if the zone doesn't have the key, and the errors of `change_guarded`.
    """

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if state.key(key_id) is None:
            raise KeyUnknown(zone.name, key_id)
        _forget(zone, [key_id], acting)
        return state.without_key(key_id)

    return change_guarded([zone], decide, acting, "dnssec.key_delete", in_transaction)


def forget_deleted_keys(*, now: datetime) -> int:
    """Erase the private parts of keys deleted more than KEPT_AFTER_DELETION ago. Return the number of keys.

    Until then, the publisher may need the private parts to write files as of a time before the deletion.
    """
    old = ZoneKey.objects.filter(deleted_at__lt=now - KEPT_AFTER_DELETION, private_encrypted__isnull=False)
    return old.update(private_encrypted=None)


def export_key(*, zone: Zone, key_id: int, by: Actor | User, now: datetime) -> str:
    """Return the key's private-key text, and record the export in the audit log.

    Raise RightMissing if the person is not allowed to export keys, and KeyUnknown if the zone doesn't have the key.
    """
    with transaction.atomic():
        text = queries.private_text(zone=zone, key_id=key_id, person=by)
        audit.record(action="dnssec.key_export", by=by, now=now, target=zone.name, key=key_id)
    return text


def _with_new_key(
    zone: Zone,
    state: SigningState,
    acting: Acting,
    flags: int = key_material.KSK_FLAGS,
    algorithm: int = key_material.DEFAULT_ALGORITHM,
    bits: int | None = None,
) -> SigningState:
    """Generate and store a key. Return the signing state with it. Raise DnssecRefused if the zone has MOST_KEYS."""
    if len(state.keys) >= MOST_KEYS:
        raise DnssecRefused(gettext("{name} already has {most_keys} keys.").format(name=zone.name, most_keys=MOST_KEYS))
    key = _store(zone, flags, key_material.generate(algorithm, bits), acting)
    return state.with_key(KeyState(key.pk, algorithm, flags))


def _without_keys(zone: Zone, state: SigningState, acting: Acting) -> SigningState:
    _forget(zone, [key.id for key in state.keys], acting)
    return SigningState(row_ids=state.row_ids)


def _forget(zone: Zone, key_ids: Sequence[int], acting: Acting) -> None:
    """Mark keys as deleted. Private parts are deleted later, because the publisher can still need them."""
    ZoneKey.objects.filter(zone=zone, pk__in=key_ids, deleted_at=None).update(deleted_at=acting.now)


def _store(zone: Zone, flags: int, pair: key_material.KeyPair, acting: Acting) -> ZoneKey:
    row = key_row(zone_id=zone.pk, flags=flags, pair=pair, author=acting.author, now=acting.now)
    row.save(force_insert=True)
    return row


def refuse_nsec3(nsec3: Nsec3 | None) -> None:
    """Raise DnssecRefused for NSEC3 parameters above MOST_ITERATIONS or LONGEST_SALT (see RFC 9276)."""
    if nsec3 is None:
        return
    if not 0 <= nsec3.iterations <= MOST_ITERATIONS or len(nsec3.salt) > LONGEST_SALT:
        raise DnssecRefused(
            gettext(
                "NSEC3 can have at most {most_iterations} iterations and {longest_salt} bytes of salt. RFC 9276 "
                "recommends 0 iterations and an empty salt."
            ).format(most_iterations=MOST_ITERATIONS, longest_salt=LONGEST_SALT)
        )
