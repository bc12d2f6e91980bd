"""dyndns2: the URL where routers report their current addresses.

  GET /nic/update?hostname=home.example.test&myip=192.0.2.7,2001:db8::7

The password is a token. The user name is used as the host name if `hostname` is missing, and is ignored otherwise. The
response has one line per host, with the protocol's codes: `good` and `nochg` with the addresses, `nohost`, `notfqdn`,
`numhost`, `dnserr`, `badauth`, `abuse`, `911`.

The parameters change each address family as follows:

- Addresses replace all addresses of the family.
- For a prefix (`2001:db8:1::/56`), each address gets the prefix and keeps its last bits. This moves all hosts behind a
  router.
- Without a parameter, or with `preserve`, the family doesn't change.
- If a parameter is empty while the other family has an address, the family's records are deleted, because the router
  has no such address now.
- Without an address for either family, the client's address is used.
- With `offline=yes`, the records of both families are deleted.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.db import DatabaseError, InterfaceError
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.errors import BadToken
from dnspanel.accounts.tokens.tokens import actor_by_secret
from dnspanel.api.authentication import password_in, secret_in
from dnspanel.api.errors import ApiError
from dnspanel.api.throttle import spend_of
from dnspanel.database.database_away import finish, is_outage, status_of
from dnspanel.fleet.reads.canary import wait_for_canary
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import PublishingOnHold, RightMissing, RuleViolations, Unknown, ZoneError
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import ancestors_within
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make
from replication.errors import BadName, ReplicationError

TTL = 60  # of new records. Short, so that resolvers soon drop old addresses.
MAX_HOSTS = 20

_HOST_PARAMETERS = ("hostname", "host_id", "host", "domain")
_IPV4_PARAMETERS = ("myip", "ip", "myipv4", "ipv4", "ip4")
_IPV6_PARAMETERS = ("myipv6", "ipv6", "ip6", "ip6lanprefix")
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_PARAMETERS_OF = {rdtypes.A: _IPV4_PARAMETERS, rdtypes.AAAA: _IPV6_PARAMETERS}

logger = logging.getLogger(__name__)


class NotAnAddress(ApiError):
    """An item in the request isn't an address, or no host can have any of the addresses."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The new addresses of a host in one address family. If `texts` is empty, the RRset is deleted."""

    texts: tuple[str, ...]

    def rrset_after(self, host: str, type_: int, current: RRset | None) -> RRset | None:
        """Return the RRset with the new addresses, or None if there are none. Keep the TTL and comment of `current`."""
        if current is not None and set(current.served) == set(self.texts):
            return current
        return _rrset(host, type_, current, self.texts)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The new network of a host's addresses in one family. The addresses keep their host bits."""

    network: IPv4Network | IPv6Network

    def rrset_after(self, host: str, type_: int, current: RRset | None) -> RRset | None:
        """Return the RRset with its addresses moved to the network, or None if there was no RRset."""
        if current is None or all(ip_address(text) in self.network for text in current.served):
            return current
        return _rrset(host, type_, current, map(self._move_address, current.served))

    def _move_address(self, text: str) -> str:
        address = ip_address(text)
        return str(type(address)(int(self.network.network_address) | int(address) & int(self.network.hostmask)))


Intents = Mapping[int, Addresses | Prefix]  # by record type; missing types stay unchanged


@csrf_exempt
@require_http_methods(["GET", "POST"])
def update(request: HttpRequest) -> HttpResponse:
    """Set the addresses of the given hosts.

    This view checks access itself: without a valid token, or for a token that requires If-Match, it returns `badauth`.
    """
    try:
        actor = _actor(request)
        if actor is None or (actor.token is not None and actor.token.needs_if_match):  # not possible here
            return _text_answer("badauth", status=401, headers={"WWW-Authenticate": 'Basic realm="dnspanel"'})
        if _has_spent_all(request, actor):
            return _text_answer("abuse", status=429)
        hosts = hosts_in(request)
        if not hosts:
            return _text_answer("notfqdn")
        if len(hosts) > MAX_HOSTS:
            return _text_answer("numhost")
        sent = {name: _all_of(request, name) for name in (*request.GET, *request.POST)}
        intents = intents_in(sent, _caller(request))
        return _text_answer(*lines_for(actor, hosts, intents, timezone.now()))
    except NotAnAddress:
        return _text_answer("dnserr")
    except (DatabaseError, InterfaceError) as exc:
        if not is_outage(exc):
            logger.exception("%s %s failed", request.method, request.path)
            return _text_answer("911")
        return finish(request, exc, _text_answer("911", status=status_of(exc)))


def hosts_in(request: HttpRequest) -> list[str]:
    """Return the host names as sent, or else the user name if it contains a dot."""
    for parameter in _HOST_PARAMETERS:
        if given := _items(_all_of(request, parameter)):
            return given
    user_name, _ = password_in(request) or ("", "")
    return [user_name] if "." in user_name else []


def _all_of(request: HttpRequest, parameter: str) -> list[str]:
    """Return all values of a parameter from the URL and the body."""
    return [*request.GET.getlist(parameter), *request.POST.getlist(parameter)]


def _items(texts: Iterable[str]) -> list[str]:
    """Split the values at commas. Return all non-empty items, including duplicates."""
    return [item.strip() for text in texts for item in text.split(",") if item.strip()]


def intents_in(parameters: Mapping[str, Sequence[str]], caller: str) -> Intents:
    """Return the change for each family that changes, as the module's docstring describes.

    Raise NotAnAddress if an item isn't an address, or if no host can have any of the addresses. If at least one address
    is usable, unusable ones are ignored, because routers without a global address send fe80::1.
    """
    if "yes" in (text.lower() for text in parameters.get("offline", ())):
        return {rdtypes.A: Addresses(()), rdtypes.AAAA: Addresses(())}
    request = _read_families(parameters)
    if not request.addresses:
        families = {_type_of(caller)} - request.preserved
        if request.unusable or (families and not _is_of_a_host(caller)):
            raise NotAnAddress(request.unusable or caller)
        return {type_: Addresses((caller,)) for type_ in families}
    intents = {type_: _intent(items) for type_, items in request.addresses.items() if type_ not in request.preserved}
    return intents | {type_: Addresses(()) for type_ in request.empty - request.addresses.keys() - request.preserved}


@dataclass(slots=True)
class _Families:
    """The parsed parameters of a request by record type. `unusable` is an address that no host can have, or ""."""

    addresses: dict[int, list[str]] = field(default_factory=dict)
    empty: set[int] = field(default_factory=set)
    preserved: set[int] = field(default_factory=set)
    unusable: str = ""

    def add(self, type_: int, items: Sequence[str]) -> None:
        """Add a parameter's items, each address to its own family. `preserve`, or an empty list, applies to `type_`."""
        if "preserve" in items:
            self.preserved.add(type_)
        if not items:
            self.empty.add(type_)
        for item in items:
            if item == "preserve":
                continue
            family = _type_of(item)
            if _is_of_a_host(item):
                self.addresses.setdefault(family, []).append(item)
            else:
                self.unusable = item


def _read_families(parameters: Mapping[str, Sequence[str]]) -> _Families:
    found = _Families()
    for type_, known in _PARAMETERS_OF.items():
        for texts in (parameters[name] for name in known if name in parameters):
            found.add(type_, _items(texts))
    return found


def lines_for(actor: Actor, hosts: Iterable[str], intents: Intents, now: datetime) -> list[str]:
    """Update the hosts in one publication. Return one response line per host, in the given order.

    A host that can't be updated doesn't prevent updates of the other hosts.
    """
    order = [(host, _owner_name(host)) for host in hosts]
    found = _publish(actor, {name for _, name in order if name is not None}, intents, now)
    return ["notfqdn" if name is None else found[name] for _, name in order]


def _publish(actor: Actor, owners: set[str], intents: Intents, now: datetime) -> dict[str, str]:
    """Publish the changes, except those of rejected names. Return each owner name's response line.

    If something is published, wait for the canary. If the canary can't serve it, return an error for these names.
    """
    zones = _zones_of(actor, owners)
    lines = dict.fromkeys(owners - zones.keys(), "nohost")
    while zones:
        try:
            outcome = zone_patches.publish_patches(
                patches=_patches(zones, intents), acting=Acting(actor, Channel.DYNAMIC_UPDATE, now)
            )
            if outcome.publication is not None:  # a router can't be notified of a later failure
                wait_for_canary(outcome.publication)
        except ZoneError as exc:
            refused, line = _explain_refusal(exc, zones)
        except ReplicationError:
            refused, line = set(zones), "dnserr"
        else:
            return lines | {name: _line(name, outcome, intents) for name in zones}
        lines |= dict.fromkeys(refused, line)
        zones = {name: zone for name, zone in zones.items() if name not in refused}
    return lines


def _patches(zones: Mapping[str, Zone], intents: Intents) -> list[zone_patches.Patch]:
    owners: dict[Zone, set[str]] = {}
    for name, zone in zones.items():
        owners.setdefault(zone, set()).add(name)
    return [_patch(zone, frozenset(of_zone), intents) for zone, of_zone in owners.items()]


def _patch(zone: Zone, owners: frozenset[str], intents: Intents) -> zone_patches.Patch:
    def decide(current: zone_patches.CurrentRRsets) -> Changes:
        keys = [(name, type_) for name in sorted(owners) for type_ in intents]
        results = {key: intents[key[1]].rrset_after(*key, current.get(key)) for key in keys}
        # A prefix changes nothing for a host without addresses. The line of a host without changes is `nohost`.
        return {key: rrset for key, rrset in results.items() if rrset or isinstance(intents[key[1]], Addresses)}

    return zone_patches.Patch(zone, decide, owners)


def _line(name: str, outcome: zone_patches.Outcome, intents: Intents) -> str:
    if not intents:
        return "nochg"
    changed = [change for plan in outcome.plans for change in plan.changes if change.name == name]
    already_so = [change for plan in outcome.plans for change in plan.already_so if change.name == name]
    if not changed and not already_so:
        return "nohost"
    afters = sorted((change.after for change in (*changed, *already_so) if change.after), key=lambda r: r.type)
    addresses = ",".join(text for rrset in afters for text in rrset.served)
    return f"{'good' if changed else 'nochg'} {addresses}".rstrip()


def _explain_refusal(exc: ZoneError, zones: Mapping[str, Zone]) -> tuple[set[str], str]:
    """Return the affected owner names and their response line. If the error names none of them, all are affected."""
    about: set[str] = set()
    line = "dnserr"
    if isinstance(exc, PublishingOnHold):
        line = "911"  # a problem of the panel: the client must retry later
    elif isinstance(exc, RightMissing):
        about, line = {exc.name}, "nohost"
    elif isinstance(exc, RuleViolations):
        about = {violation.name for violation in exc.violations}
    elif isinstance(exc, Unknown):
        about, line = {name for name, zone in zones.items() if zone.name == exc.name}, "nohost"
    return about & zones.keys() or set(zones), line


def _zones_of(actor: Actor, owners: set[str]) -> dict[str, Zone]:
    """Map each owner name to its closest enclosing zone that the actor can see. Omit names without such a zone."""
    around = {name: [name, *ancestors_within(name, names.ROOT)] for name in owners}
    candidates = {candidate for above in around.values() for candidate in above}
    found = access.zones_visible_to(actor).filter(name__in=candidates).order_by(Length("name").desc())
    by_name = {zone.name: zone for zone in found}
    zones = ((name, next((by_name[a] for a in above if a in by_name), None)) for name, above in around.items())
    return {name: zone for name, zone in zones if zone is not None}


def _owner_name(host: str) -> str | None:
    try:
        name = names.parse(host)
    except BadName:
        return None
    return name if len(names.labels(name)) > 1 else None


def _intent(items: list[str]) -> Addresses | Prefix:
    """Return the change that these items request.

    If there are both addresses and a prefix, the prefix is ignored, because the addresses are the router's own.
    """
    addresses = tuple(str(ip_address(item)) for item in items if "/" not in item)
    return Addresses(addresses) if addresses else Prefix(ip_network(items[0], strict=False))


def _type_of(text: str) -> int:
    try:
        address = ip_network(text, strict=False).network_address if "/" in text else ip_address(text)
    except ValueError as exc:
        raise NotAnAddress(text) from exc
    if isinstance(address, IPv6Address) and address.scope_id:
        raise NotAnAddress(text)
    return rdtypes.A if address.version == 4 else rdtypes.AAAA


def _is_of_a_host(text: str) -> bool:
    """Return True if a host on the Internet or in a private network can have this address or prefix.

    Hosts can't have 0.0.0.0, 127.0.0.1, fe80::1 or a multicast address (RFC 1122 3.2.1.3, RFC 4291 2.5 and 2.7).
    """
    try:
        address = ip_network(text, strict=False).network_address
    except ValueError:
        return False
    if isinstance(address, IPv4Address) and address in _THIS_NETWORK:
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or getattr(address, "is_site_local", False)
    )


def _rrset(host: str, type_: int, current: RRset | None, texts: Iterable[str]) -> RRset | None:
    addresses = tuple(texts)
    if not addresses:
        return None
    if current is None:
        return make(host, type_, TTL, addresses)
    return make(host, type_, current.ttl, addresses, (), current.comment, notes=current.notes)


def _actor(request: HttpRequest) -> Actor | None:
    _, password = password_in(request) or ("", "")
    try:
        return actor_by_secret(
            secret=password or secret_in(request), address=request.META.get("REMOTE_ADDR"), now=timezone.now()
        )
    except BadToken:
        return None


def _has_spent_all(request: HttpRequest, actor: Actor) -> bool:
    assert actor.token is not None
    allowance = spend_of(actor.token, now=time.time())
    request.allowance = allowance  # type: ignore[attr-defined]
    return allowance.exceeded


def _caller(request: HttpRequest) -> str:
    """Return the client's address, or "" if the address isn't known."""
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _text_answer(*lines: str, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse("\n".join(lines) + "\n", status=status, content_type="text/plain", headers=headers)
