"""Sign zones as their policies require, many zones in one publication. Verbs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from dnspanel.database.sql import fetch_all
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.policy import Act, Difference, Terms, differences, with_denial_and_cds
from dnspanel.zones.dnssec.policy_queries import Applied
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover_queries import rolling_zones
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.dnssec.wildcard_cuts import wildcard_cuts
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.log.signing_log import change_signing, key_row
from dnspanel.zones.models import Publication, Zone, ZoneKey
from dnspanel.zones.names.nesting import DsAbove, ds_above
from dnspanel.zones.signing.first_ds import awaiting_first_ds
from dnspanel.zones.signing.safety import refuse_bogus

# Begins a rollover of this kind, to this algorithm (None: the same). Can raise DnssecRefused.
BeginRollover = Callable[[Zone, Kind, Acting, int | None], object]
Findings = Mapping[int, Sequence[Difference]]
InTransaction = Callable[[Findings], object]

_KEY_IDS = "SELECT nextval(pg_get_serial_sequence('zones_zonekey', 'id')) FROM generate_series(1, %s)"


@dataclass(frozen=True, slots=True)
class Applying:
    """The author, and a function that begins rollovers. Without the function, required rollovers are only reported."""

    acting: Acting
    begin_rollover: BeginRollover | None = None


def nothing(findings: Findings) -> None:
    """Do nothing. This is the default for `in_transaction`."""


def follow_policies(
    *,
    zones: Sequence[Zone],
    applied: Mapping[int, Applied],
    applying: Applying,
    in_transaction: InTransaction = nothing,
) -> tuple[list[Publication], Findings]:
    """Begin the rollovers that automatic policies require, then publish all other required changes to the signing.

    Return the publications (those of rollovers first), and the differences. `applied` has the policies. Both mappings
    are keyed by zone id. A zone with a rejected difference doesn't change. `in_transaction` is called with the
    differences in the last publication's transaction, even if nothing changes. Raise Unknown (deleted zone) or
    RightMissing.
    """
    work = _Work(zones, applied, applying, in_transaction)
    work.begin_rollovers()
    publications = change_signing(
        zones=zones, decide=work.decide, acting=applying.acting, action="dnssec.policy", decided=work.store_new_keys
    )
    return [*work.begun, *publications], work.findings


class _Work:
    """The state of one `follow_policies` call. One query allocates the key ids of all zones, one stores the keys."""

    def __init__(
        self, zones: Sequence[Zone], applied: Mapping[int, Applied], applying: Applying, in_transaction: InTransaction
    ) -> None:
        self._zones, self._applied, self._applying, self._in_transaction = zones, applied, applying, in_transaction
        self.findings: dict[int, list[Difference]] = {}
        self.begun: list[Publication] = []  # of rollovers
        self._rolled: set[int] = set()
        self._rolling = rolling_zones([zone.pk for zone in zones])
        self._awaiting = awaiting_first_ds(zones, {pk: each.terms for pk, each in applied.items()})
        self._above: dict[str, DsAbove] | None = None
        self._wildcards: dict[int, str] = {}
        self._key_ids: list[int] = []
        self._new_keys: list[ZoneKey] = []

    def begin_rollovers(self) -> None:
        """Begin the rollovers that automatic policies require. If a rollover is rejected, record the reason."""
        if self._applying.begin_rollover is None:
            return
        states = signing_of_zones([zone.pk for zone in self._zones])
        for zone in self._zones:
            terms = self._applied[zone.pk].terms
            state = states.get(zone.pk, SigningState())
            for difference in differences(terms, state, is_rolling=zone.pk in self._rolling):
                if difference.kind is not None and terms.automatic:
                    self.findings[zone.pk] = [self._begin_rollover(zone, difference, terms)]
                    self._rolled.add(zone.pk)

    def _begin_rollover(self, zone: Zone, difference: Difference, terms: Terms) -> Difference:
        begin, kind = self._applying.begin_rollover, difference.kind
        assert begin is not None
        assert kind is not None
        acting = replace(self._applying.acting, form_id=uuid4())
        try:
            begin(zone, kind, acting, terms.algorithm if kind is Kind.ALGORITHM else None)
        except DnssecRefused as refusal:
            return Difference(Act.REFUSED, str(refusal))
        self.begun += Publication.objects.filter(form_id=acting.form_id)
        return replace(
            difference, message=gettext("{message} The rollover has started.").format(message=difference.message)
        )

    def decide(self, zone: Zone, state: SigningState) -> SigningState:
        """Return the signing state that the zone's policy requires. Record differences or a rejection's reason.

        A zone whose rollover has just begun, or whose change is rejected, keeps its state.
        """
        if self._above is None:
            self._above = ds_above([each.name for each in self._zones])
            self._wildcards = wildcard_cuts([each.pk for each in self._zones])
        if zone.pk in self._rolled:  # its keys are changing, so other changes wait for another run
            return state
        terms = self._applied[zone.pk].terms
        found = differences(terms, state, is_rolling=zone.pk in self._rolling, awaits_ds=zone.pk in self._awaiting)
        acts = {difference.act for difference in found}
        if Act.REFUSED in acts:
            after = state
        else:
            after = with_denial_and_cds(terms, self._with_new_keys(zone, terms, state) if Act.SIGN in acts else state)
        if after != state:
            try:
                above = self._above.get(zone.name)
                refuse_bogus(zone, state, after, above.ds if above is not None else (), self._wildcards)
            except DnssecRefused as refusal:
                self._new_keys = [key for key in self._new_keys if key.zone_id != zone.pk]
                found, after = [Difference(Act.REFUSED, str(refusal))], state
        # A change in two publications is decided twice. The second decision only sees the result of the first.
        self.findings.setdefault(zone.pk, found)
        return after

    def store_new_keys(self, *, is_last: bool) -> None:
        """Store new keys when the publication that uses them is written. If `is_last`, call `in_transaction`."""
        ZoneKey.objects.bulk_create(self._new_keys)
        self._new_keys = []
        if is_last:
            self._in_transaction(self.findings)

    def _with_new_keys(self, zone: Zone, terms: Terms, state: SigningState) -> SigningState:
        acting = self._applying.acting
        for flags in terms.key_flags:
            pair = key_material.generate(terms.algorithm, terms.bits)
            row = key_row(zone_id=zone.pk, flags=flags, pair=pair, author=acting.author, now=acting.now)
            row.pk = self._key_id()
            self._new_keys.append(row)
            state = state.with_key(KeyState(row.pk, terms.algorithm, flags))
        return state

    def _key_id(self) -> int:
        if not self._key_ids:
            self._key_ids = sorted((row[0] for row in fetch_all(_KEY_IDS, [2 * len(self._zones)])), reverse=True)
        return self._key_ids.pop()
