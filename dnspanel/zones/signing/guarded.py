"""Change the signing for people and programs, but reject changes that break validation. Verbs."""

from collections.abc import Mapping, Sequence

from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.rollover_stages import WITHOUT_CDS, Kind
from dnspanel.zones.dnssec.signing_state import DELETE, SigningState
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.log.sequence_log import InTransaction, nothing
from dnspanel.zones.log.signing_log import Decide, change_signing
from dnspanel.zones.models import Publication, Rollover, Zone
from dnspanel.zones.names.nesting import DsAbove, ds_above
from dnspanel.zones.signing.safety import refuse_bogus, refuse_leaving, refuse_presigned


def change_guarded(
    zones: Sequence[Zone],
    decide: Decide,
    acting: Acting,
    action: str,
    in_transaction: InTransaction = nothing,
    *,
    rollover: Rollover | None = None,
) -> list[Publication]:
    """Change how zones are signed to the states that `decide` returns, as `change_signing` does, but with more checks.

    Raise DnssecRefused if the panel doesn't control how a zone is signed, or if a zone with other signers would become
    unsigned. Also raise it for changes to keys, CDS records or a DS that a rollover other than `rollover` needs. Raise
    it if a zone would no longer validate. Emergency rollovers are exempt from this check.
    """
    above: dict[str, DsAbove] | None = None
    rolled: Mapping[int, str] = {}

    def decide_guarded(zone: Zone, state: SigningState) -> SigningState:
        nonlocal above, rolled
        if above is None:
            above = ds_above([each.name for each in zones])
            rolled = open_rollovers(zones, apart_from=rollover)
        refuse_presigned(zone, state)
        after = decide(zone, state)
        if after == state:
            return after
        refuse_step(zone, state, after, rolled)
        if rollover is None or not rollover.is_emergency:
            refuse_bogus(zone, state, after, above[zone.name].ds if zone.name in above else ())
        return after

    return change_signing(
        zones=zones, decide=decide_guarded, acting=acting, action=action, in_transaction=in_transaction
    )


def open_rollovers(zones: Sequence[Zone], *, apart_from: Rollover | None = None) -> Mapping[int, str]:
    """Return the kinds of the zones' current rollovers, except `apart_from`, keyed by zone id."""
    others = Rollover.objects.filter(zone__in=[each.pk for each in zones], ended_at=None)
    return dict(others.exclude(pk=(apart_from and apart_from.pk) or 0).values_list("zone_id", "kind"))


def refuse_step(zone: Zone, state: SigningState, after: SigningState, rolled: Mapping[int, str]) -> None:
    """Raise DnssecRefused for unsigning a zone with other signers, and for changes that its rollover prevents.

    `rolled` are the open rollovers.
    """
    if zone.pk in rolled:
        _refuse_under_rollover(zone, rolled[zone.pk], state, after)
    if state.is_signed and not after.is_signed:
        refuse_leaving(zone, gettext("the panel stops signing the zone"))


def _refuse_under_rollover(zone: Zone, kind: str, state: SigningState, after: SigningState) -> None:
    """Raise DnssecRefused if the change affects keys, CDS records or a DS that the current rollover needs."""
    if after.keys != state.keys:
        raise DnssecRefused(
            gettext(
                "A rollover for {name} is in progress. Cancel it or wait until it ends before you change keys manually."
            ).format(name=zone.name)
        )
    sets_cds = (after.cds, after.cdnskey) != (state.cds, state.cdnskey)
    if sets_cds and kind in {Kind.INSECURE, *WITHOUT_CDS}:
        raise DnssecRefused(
            gettext(
                "A rollover for {name} controls the CDS and CDNSKEY records. Cancel it or wait until it ends."
            ).format(name=zone.name)
        )
    if kind != Kind.ZSK and after.cds == DELETE != state.cds:  # a ZSK rollover doesn't involve the DS
        raise DnssecRefused(
            gettext("A rollover for {name} needs the DS in the parent zone. Cancel it or wait until it ends.").format(
                name=zone.name
            )
        )
