"""Manage sets of name servers: their content, the default set for new zones, and links from zones. Verbs.

A set is a kind of template (`TemplateKind.SERVERS`): it has versions, zones are linked to it, and runs update many
zones to its newest version. `transfer.zone_templates` creates and changes sets.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import F, Q

from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import TemplateKind, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make

_APEX = relative_key(names.ROOT, names.ROOT)
_PRIMARY, _MAILBOX = 0, 1  # fields of an SOA


@dataclass(frozen=True, slots=True)
class Host:
    """A name server: its canonical name, and either its addresses or the nodes whose addresses it has."""

    name: str
    addresses: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name, *self.addresses, *(f"node:{node}" for node in self.nodes)))


@dataclass(frozen=True, slots=True)
class Servers:
    """The content of one version of a set. If `primary` or `hostmaster` is empty, existing zones keep their own."""

    hosts: tuple[Host, ...]
    primary: str = ""
    hostmaster: str = ""
    ttl: int = soa.DEFAULT_TTL

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    @property
    def first(self) -> str:
        """The primary name server for a new zone's SOA."""
        return self.primary or self.hosts[0].name

    @property
    def text(self) -> str:
        """The set as zone-file lines. Settings without a record become comments."""
        lines = [f"@ {self.ttl} NS {name}" for name in self.names]
        lines += [f"; {host}" for host in self.hosts if host.addresses or host.nodes]
        lines += [f"; primary {self.primary}"] if self.primary else []
        lines += [f"; hostmaster {self.hostmaster}"] if self.hostmaster else []
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "hosts": [
                {"name": host.name, "addresses": list(host.addresses), "nodes": list(host.nodes)} for host in self.hosts
            ],
            "primary": self.primary,
            "hostmaster": self.hostmaster,
            "ttl": self.ttl,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Servers":
        hosts = tuple(Host(each["name"], tuple(each["addresses"]), tuple(each["nodes"])) for each in stored["hosts"])
        return cls(hosts, stored["primary"], stored["hostmaster"], stored["ttl"])

    def nameservers(self, zone_name: str) -> RRset:
        """Return the NS RRset for a zone that uses the set."""
        return make(zone_name, rdtypes.NS, self.ttl, self.names)

    def named_in(self, current: RRset) -> RRset:
        """Return the SOA with the set's primary and mailbox. If the set lacks one of them, keep the SOA's own."""
        return _with_fields(current, {_PRIMARY: self.primary, _MAILBOX: self.hostmaster})

    def named_in_new(self, made: RRset) -> RRset:
        """Return a new zone's SOA with the set's primary, and with the set's mailbox if it has one."""
        return _with_fields(made, {_PRIMARY: self.first, _MAILBOX: self.hostmaster})


@dataclass(frozen=True, slots=True)
class ServerSet:
    """A version of a set of name servers, with the data needed for new zones."""

    template_id: int
    name: str
    version: int
    servers: Servers


def default_set(team_id: int | None) -> ServerSet | None:
    """Return the default set for the team's new zones, else the panel's, or None if neither exists. Needs one query."""
    return _newest(Q(template__is_default=True) & (Q(template__team=None) | Q(template__team=team_id)))


def newest_set(template: ZoneTemplate) -> ServerSet | None:
    """Return the set's newest version, or None if the template is of another kind. Needs one query."""
    return _newest(Q(template=template))


def set_at(template_id: int, version: int) -> ServerSet | None:
    """Return this version of the set, or None if it doesn't exist. Needs one query."""
    return _find_set(Q(template=template_id, number=version))


def newest_sets(templates: Iterable[ZoneTemplate]) -> list[tuple[ZoneTemplate, Servers]]:
    """Return these sets with the content of their newest versions, in the same order.

    Needs one query in addition to the query `templates`. Omit templates without a newest version.
    """
    listed = list(templates)
    newest = TemplateVersion.objects.filter(template__in=listed, number=F("template__version"))
    says = {pk: Servers.from_json(stored) for pk, stored in newest.values_list("template", "servers")}
    return [(template, says[template.pk]) for template in listed if template.pk in says]


def _newest(which: Q) -> ServerSet | None:
    return _find_set(which & Q(number=F("template__version")))


def _find_set(which: Q) -> ServerSet | None:
    versions = TemplateVersion.objects.filter(which, template__kind=TemplateKind.SERVERS).select_related("template")
    found = versions.order_by(F("template__team").asc(nulls_last=True)).first()
    if found is None:
        return None
    return ServerSet(found.template_id, found.template.name, found.number, Servers.from_json(found.servers))


def link_new_zones(
    *, template_id: int, version: int, zone_names: Iterable[str], now: datetime, values: Mapping[str, str] | None = None
) -> None:
    """Link the zones to the template that the current transaction used to create them.

    `values` has the values of the template's variables. A set of name servers doesn't have variables.
    """
    ids = Zone.objects.filter(name__in=list(zone_names), deleted_at=None).values_list("pk", flat=True)
    link_zone_ids(template_id=template_id, version=version, zone_ids=ids, now=now, values=values)


def follow_where_equal(*, server_set: ServerSet, zone_ids: Collection[int], now: datetime) -> None:
    """Link the zones that this transaction created to the set, if they have its name servers. Needs two queries."""
    rdata = list(server_set.servers.nameservers(names.ROOT).rdata)
    having = StoredRRset.objects.filter(zone__in=zone_ids, owner_key=_APEX, type=rdtypes.NS)
    ids = having.filter(Q(rdata=rdata) | Q(folded=rdata)).values_list("zone_id", flat=True)
    link_zone_ids(template_id=server_set.template_id, version=server_set.version, zone_ids=ids, now=now)


def link_zone_ids(
    *, template_id: int, version: int, zone_ids: Iterable[int], now: datetime, values: Mapping[str, str] | None = None
) -> None:
    """Link zones, given by id, to a template. See `link_new_zones`."""
    links = [
        TemplateLink(zone_id=pk, template_id=template_id, version=version, values=dict(values or {}), at=now)
        for pk in zone_ids
    ]
    TemplateLink.objects.bulk_create(links)


def has_servers_of(server_set: ServerSet, zone_name: str, rrsets: Sequence[RRset]) -> bool:
    """Return True if the apex NS in `rrsets` has exactly the set's name servers, with any TTL."""
    wanted = server_set.servers.nameservers(zone_name).rdata
    apex = (rrset for rrset in rrsets if rrset.name == zone_name and rrset.type == rdtypes.NS)
    return any(rrset.folded.rdata == wanted for rrset in apex)


def _with_fields(rrset: RRset, fields: Mapping[int, str]) -> RRset:
    def replace_fields(text: str) -> str:
        words = text.split(" ")
        for place, word in fields.items():
            words[place] = word or words[place]
        return " ".join(words)

    return replace(
        rrset,
        rdata=tuple(map(replace_fields, rrset.rdata)),
        disabled=tuple(map(replace_fields, rrset.disabled)),
        notes=rrset.notes.rename_values(replace_fields),
    )
