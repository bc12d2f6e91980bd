"""Compare a zone with its DNSSEC policy: required changes, expired keys, and which policy applies. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from dnspanel.texts import gettext, gettext_noop, join_list, joined, ngettext
from dnspanel.zones.dnssec.key_material import ALGORITHMS, DEFAULT_ALGORITHM, KSK_FLAGS, ZSK_FLAGS
from dnspanel.zones.dnssec.rollover import Refused, keys_to_replace
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import KeyRole, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_denial
from replication.codec.dnssec import Nsec3


@dataclass(frozen=True, slots=True)
class Terms:
    """A policy's settings. `bits` applies to new RSA keys. A lifetime of None means unlimited.

    `ksk_days` is the lifetime of a key that the parent's DS names, which is a KSK or a CSK.
    """

    algorithm: int = DEFAULT_ALGORITHM
    bits: int | None = None
    split: bool = False
    nsec3: Nsec3 | None = None
    cds: str = ""
    cdnskey: bool = False
    zsk_days: int | None = None
    ksk_days: int | None = None
    automatic: bool = False
    signs_new_zones: bool = False
    first_ds: bool = False  # the panel sets the first DS of a signed zone automatically

    @property
    def key_flags(self) -> tuple[int, ...]:
        """The flags of the keys that sign a zone under this policy."""
        return (KSK_FLAGS, ZSK_FLAGS) if self.split else (KSK_FLAGS,)

    @property
    def description(self) -> str:
        """The algorithm, keys and denial of existence on one line, such as "ECDSAP256SHA256, one key (CSK), NSEC"."""
        algorithm = ALGORITHMS[self.algorithm]
        if self.bits:
            algorithm = gettext("{algorithm} with {bits} bits").format(algorithm=algorithm, bits=self.bits)
        keys = gettext("KSK and ZSK") if self.split else gettext("one key (CSK)")
        return joined(", ", [algorithm, keys, describe_denial(self.nsec3)])

    @property
    def cds_description(self) -> str:
        return describe_cds(self.cds, cdnskey=self.cdnskey)

    @property
    def lifetimes(self) -> str:
        """The key lifetimes on one line, such as "ZSK 90 days, KSK 365 days"."""
        ksk = "KSK" if self.split else "CSK"
        found = [(ksk, self.ksk_days)] if not self.split else [("ZSK", self.zsk_days), (ksk, self.ksk_days)]
        ends = [
            ngettext("{role} {days} day", "{role} {days} days", days).format(role=role, days=days)
            for role, days in found
            if days
        ]
        return joined(", ", ends) if ends else gettext("no expiry")


ROLLING = gettext_noop("A rollover is in progress. The policy will be applied afterwards.")
FIRST_DS = gettext_noop("The parent zone doesn’t have a DS yet. The rollover to the first DS will start automatically.")
PRESIGNED = gettext_noop("The zone is served with imported signatures.")


class Act(StrEnum):
    """A change that a policy makes in a zone, or the reason why it makes no change."""

    SIGN = "sign"
    DENIAL = "denial"
    CDS = "cds"
    ROLLOVER = "rollover"  # the keys differ from the policy
    FIRST_DS = "first-ds"  # the parent has no DS yet; the panel will set it automatically
    SAME = "same"  # the zone already follows the policy
    NO_POLICY = "no-policy"  # no policy applies to the zone
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a zone and its policy. `kind` is the kind of rollover that resolves it, or None."""

    act: Act
    message: str
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """Keys of one role whose lifetime has ended, the earliest end, and the kind of rollover that replaces them."""

    kind: Kind
    key_ids: tuple[int, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class Attachment:
    """A policy's attachment to a zone, a tag, or a team. Policy, zone and team are ids."""

    policy_id: int
    zone_id: int | None = None
    tag: str | None = None
    team_id: int | None = None
    team_name: str = ""


def choose(
    *, zone_id: int, tags: Collection[str], team_id: int | None, attachments: Sequence[Attachment], default: int | None
) -> tuple[int, str] | None:
    """Return the id of a zone's policy and a description of its origin, or None if no policy applies.

    The zone's own policy comes first, then that of the alphabetically first tag with a policy, the team's, the default.
    """
    own = next((each for each in attachments if each.zone_id == zone_id), None)
    if own is not None:
        return own.policy_id, gettext("set for this zone")
    tagged = [each for each in attachments if each.tag is not None and each.tag in tags]
    if tagged:
        first = min(tagged, key=lambda each: each.tag or "")
        return first.policy_id, gettext("from the tag {tag}").format(tag=first.tag)
    of_team = next((each for each in attachments if team_id is not None and each.team_id == team_id), None)
    if of_team is not None:
        return of_team.policy_id, gettext("from the team {team}").format(team=of_team.team_name)
    return None if default is None else (default, gettext("the panel’s default"))


def differences(
    terms: Terms, state: SigningState, *, is_rolling: bool = False, awaits_ds: bool = False
) -> list[Difference]:
    """Return the differences between a zone and its policy.

    If the policy can't change the zone, the only difference has the act REFUSED, and its message contains the reason.
    Set `is_rolling` while a rollover replaces the zone's keys, because the policy waits until the rollover ends. Set
    `awaits_ds` if the policy will set the first DS automatically but hasn't started yet.
    """
    if is_rolling:
        return [Difference(Act.REFUSED, gettext(ROLLING))]
    if state.presigned:
        return [Difference(Act.REFUSED, gettext(PRESIGNED))]
    if not state.keys:
        says = gettext("Sign: {terms}.").format(terms=terms.description)
        if terms.cds or terms.cdnskey:
            says = gettext("Sign: {terms}, with {cds}.").format(terms=terms.description, cds=terms.cds_description)
        if terms.first_ds:
            says = joined(" ", [says, gettext("The rollover to the first DS will start automatically.")])
        return [Difference(Act.SIGN, says)]
    if reason := _refusal(state):
        return [Difference(Act.REFUSED, reason)]
    first_ds = [Difference(Act.FIRST_DS, gettext(FIRST_DS))] if awaits_ds else []
    return [*_of_keys(terms, state), *_of_denial(terms, state), *_of_cds(terms, state), *first_ds]


def with_denial_and_cds(terms: Terms, state: SigningState) -> SigningState:
    """Return a signed zone's state with the policy's denial of existence and CDS settings. The keys don't change."""
    return replace(state.with_denial(terms.nsec3), cds=terms.cds, cdnskey=terms.cdnskey)


def lifetime(terms: Terms, role: KeyRole) -> timedelta | None:
    """Return the maximum age of a key with this role, or None if the policy doesn't limit it."""
    days = terms.zsk_days if role is KeyRole.ZSK else terms.ksk_days
    return None if days is None else timedelta(days=days)


def due(terms: Terms, state: SigningState, made: Mapping[int, datetime], now: datetime) -> list[Due]:
    """Return the active keys whose lifetime has ended, ZSKs first. `made` maps key ids to creation times."""
    kinds = {KeyRole.ZSK: Kind.ZSK, KeyRole.KSK: Kind.KSK, KeyRole.CSK: Kind.CSK}
    found = []
    for role, kind in kinds.items():
        span = lifetime(terms, role)
        if span is None:
            continue
        ends = {
            key.id: made[key.id] + span
            for key in state.keys
            if key.active and key.id in made and state.role(key) is role
        }
        old = tuple(id for id, end in ends.items() if end <= now)
        if old:
            found.append(Due(kind, old, min(ends[id] for id in old)))
    return found


def describe_cds(cds: str, *, cdnskey: bool) -> str:
    """Describe CDS and CDNSKEY settings on one line."""
    names = {"1": "SHA-1", "2": "SHA-256", "4": "SHA-384", "0": gettext("a request to delete the DS")}
    parts: list[str] = []
    if cds:
        digests = joined(", ", [names.get(each, each) for each in cds.split(",")])
        parts.append(gettext("CDS ({digests})").format(digests=digests))
    if cdnskey:
        parts.append("CDNSKEY")
    return join_list(parts) if parts else gettext("no CDS or CDNSKEY")


def _refusal(state: SigningState) -> str:
    """Return why someone must check the zone before a policy can change it, or "" if no check is needed."""
    if not state.is_signed:
        return gettext("None of the zone’s keys is used for signing. Check the keys first.")
    if "0" in state.cds.split(","):
        return gettext("The zone asks the parent zone to delete the DS because DNSSEC is being turned off.")
    kinds = keys_to_replace(Kind.ALGORITHM, state)
    return kinds.message if isinstance(kinds, Refused) else ""


def _of_keys(terms: Terms, state: SigningState) -> list[Difference]:
    numbers = sorted({key.algorithm for key in state.keys})
    found = []
    if numbers != [terms.algorithm]:
        names = join_list([ALGORITHMS.get(number, str(number)) for number in numbers])
        message = gettext("Rollover from {names} to {algorithms}.").format(
            names=names, algorithms=ALGORITHMS[terms.algorithm]
        )
        found.append(Difference(Act.ROLLOVER, message, Kind.ALGORITHM))
    is_split = {state.role(key) for key in state.keys} == {KeyRole.KSK, KeyRole.ZSK}
    if is_split != terms.split:
        message = gettext(
            "The zone has one key (CSK), but the policy requires a KSK and a ZSK. Add the missing key manually."
        )
        if is_split:
            message = gettext(
                "The zone has a KSK and a ZSK, but the policy requires one key (CSK). Replace the keys manually."
            )
        found.append(Difference(Act.ROLLOVER, message))
    return found


def _of_denial(terms: Terms, state: SigningState) -> list[Difference]:
    if state.denial == terms.nsec3:
        return []
    return [Difference(Act.DENIAL, _becomes(describe_denial(state.denial), describe_denial(terms.nsec3)))]


def _of_cds(terms: Terms, state: SigningState) -> list[Difference]:
    if (state.cds, state.cdnskey) == (terms.cds, terms.cdnskey):
        return []
    return [Difference(Act.CDS, _becomes(describe_cds(state.cds, cdnskey=state.cdnskey), terms.cds_description))]


def _becomes(before: str, after: str) -> str:
    return gettext("Change from {before} to {after}.").format(before=before, after=after)
