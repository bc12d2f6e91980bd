"""Parse a DNS UPDATE (RFC 2136) and compute the changes that it makes to a zone. Pure.

An update sees and deletes only what DNS answers: disabled records don't exist for it, except that adding one enables
it. A prerequisite therefore reveals only what an ordinary query reveals, and doesn't need a permission.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.update

from dnspanel.gateway.errors import MessageRefused
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing.zone_patches import CurrentRRsets
from dnspanel.zones.values import soa
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import NO_NOTES, Key, Notes, RRset, make

ANY = int(dns.rdatatype.ANY)
_APEX_KEEPS = frozenset({rdtypes.SOA, rdtypes.NS})
# A name has only one RRset of these types. Adding another record replaces the first.
_SINGLE = frozenset({rdtypes.CNAME, rdtypes.DNAME, rdtypes.SOA})


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """An UPDATE prerequisite: a name (type ANY) or an RRset must be in use, or must not be in use."""

    name: str
    type: int
    in_use: bool

    def refuse(self, current: Mapping[str, "_Name"]) -> None:
        """Raise MessageRefused with the rcode of RFC 2136 section 3.2.5 if the prerequisite isn't met."""
        found = current[self.name].is_in_use(self.type)
        if found == self.in_use:
            return
        if self.type == ANY:
            rcode = dns.rcode.NXDOMAIN if self.in_use else dns.rcode.YXDOMAIN
            raise MessageRefused(rcode, f"{self.name} {'has no records' if self.in_use else 'has records'}")
        rcode = dns.rcode.NXRRSET if self.in_use else dns.rcode.YXRRSET
        what = f"{rdata.type_to_text(self.type)} {self.name}"
        raise MessageRefused(rcode, f"{what} {'does not exist' if self.in_use else 'exists'}")


@dataclass(frozen=True, slots=True)
class Add:
    """The addition of a record. It also sets the TTL of the whole RRset."""

    name: str
    type: int
    ttl: int
    text: str


@dataclass(frozen=True, slots=True)
class DeleteRRset:
    """The deletion of an RRset's served records, or of all at the name for type ANY, except SOA and NS at the apex."""

    name: str
    type: int


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    name: str
    type: int
    text: str


Act = Add | DeleteRRset | DeleteRecord


@dataclass(frozen=True, slots=True)
class Update:
    """A parsed and well-formed UPDATE message."""

    zone_name: str
    prerequisites: tuple[Prerequisite, ...]
    values: Mapping[Key, frozenset[str]]  # RRsets that must be exactly these
    acts: tuple[Act, ...]

    @property
    def names(self) -> set[str]:
        """The owner names whose current RRsets `decide` needs."""
        used = {prerequisite.name for prerequisite in self.prerequisites} | {name for name, _ in self.values}
        return used | {act.name for act in self.acts}

    def decide(self, current: CurrentRRsets) -> Changes:
        """Return the changed RRsets. Raise MessageRefused if a prerequisite isn't met."""
        by_name = {name: _Name() for name in self.names}
        for (name, type_), rrset in current.items():
            texts = {rdata.fold(type_, text): text for text in rrset.rdata}
            off = rdata.fold_all(type_, rrset.disabled)
            values = _Values(rrset.ttl, texts, off, rrset.comment, rrset.notes)
            by_name[name].rrsets[type_] = values
        self._refuse_unmet(by_name)
        for act in self.acts:
            _carry_out(act, by_name[act.name], is_apex=act.name == self.zone_name)
        keys = {(name, type_) for name, at in by_name.items() for type_ in at.touched}
        after = {key: by_name[key[0]].rrset(*key) for key in keys}
        return {key: rrset for key, rrset in after.items() if rrset != current.get(key)}

    def _refuse_unmet(self, by_name: Mapping[str, "_Name"]) -> None:
        for prerequisite in self.prerequisites:
            prerequisite.refuse(by_name)
        for (name, type_), texts in self.values.items():
            if by_name[name].served_texts(type_) != texts:
                reason = f"{rdata.type_to_text(type_)} {name} has other values"
                raise MessageRefused(dns.rcode.NXRRSET, reason)


@dataclass(slots=True)
class _Values:
    """An RRset that an update is changing. The keys of `texts` and the values in `disabled` are folded values."""

    ttl: int
    texts: dict[str, str]
    disabled: tuple[str, ...] = ()
    comment: str = ""
    notes: Notes = NO_NOTES


@dataclass(slots=True)
class _Name:
    """The RRsets at an owner name that an update is changing."""

    rrsets: dict[int, _Values] = field(default_factory=dict)
    touched: set[int] = field(default_factory=set)

    def served_texts(self, type_: int) -> set[str]:
        values = self.rrsets.get(type_)
        return set() if values is None else values.texts.keys() - set(values.disabled)

    def drop_served(self, type_: int) -> None:
        """Delete the served records of a type. The disabled ones stay, with the RRset's TTL and comment."""
        for folded in self.served_texts(type_):
            del self.rrsets[type_].texts[folded]
        self.touched.add(type_)

    def is_in_use(self, type_: int) -> bool:
        return any(self.served_texts(each) for each in (self.rrsets if type_ == ANY else (type_,)))

    def rrset(self, name: str, type_: int) -> RRset | None:
        values = self.rrsets.get(type_)
        if values is None or not values.texts:
            return None
        disabled = [text for text in values.disabled if text in values.texts]
        texts = values.texts.values()
        return make(name, type_, values.ttl, texts, disabled, values.comment, notes=values.notes)


def read_update(message: dns.update.UpdateMessage) -> Update:
    """Parse an UPDATE. Raise MessageRefused, BadName or BadRdata if it is invalid (RFC 2136 sections 3.1 to 3.4.1)."""
    if len(message.zone) != 1:
        raise MessageRefused(dns.rcode.FORMERR, "an UPDATE is about one zone")
    if message.zone[0].rdclass != dns.rdataclass.IN:
        raise MessageRefused(dns.rcode.NOTAUTH, "only class IN is supported")
    zone_name = name_of(message.zone[0].name)
    prerequisites = []
    values: dict[Key, set[str]] = {}
    for rrset in message.prerequisite:
        name, type_ = _inside(rrset, zone_name), int(rrset.rdtype)
        if rrset.deleting is not None:
            _refuse_meta_type(type_, unless_any=True)
            prerequisites.append(Prerequisite(name, type_, rrset.deleting == dns.rdataclass.ANY))
        else:
            _refuse_form(rrset, has_ttl=False)
            values.setdefault((name, type_), set()).add(rdata.fold(type_, _text(rrset)))
    acts = tuple(_act(rrset, zone_name) for rrset in message.update)
    expected = {key: frozenset(texts) for key, texts in values.items()}
    return Update(zone_name, tuple(prerequisites), expected, acts)


def name_of(name: dns.name.Name) -> str:
    """Return the canonical form of a dnspython name. Raise BadName if a zone can't contain the name."""
    return names.from_wire(name.to_wire() or b"")


def _act(rrset: dns.rrset.RRset, zone_name: str) -> Act:
    name, type_ = _inside(rrset, zone_name), int(rrset.rdtype)
    if rrset.deleting == dns.rdataclass.ANY:
        _refuse_meta_type(type_, unless_any=True)
        return DeleteRRset(name, type_)
    if rrset.deleting == dns.rdataclass.NONE:
        _refuse_form(rrset, has_ttl=False)
        return DeleteRecord(name, type_, _text(rrset))
    _refuse_form(rrset, has_ttl=True)
    rdata.check_type(type_)
    return Add(name, type_, rrset.ttl, _text(rrset))


def _inside(rrset: dns.rrset.RRset, zone_name: str) -> str:
    name = name_of(rrset.name)
    if not names.is_within(name, zone_name):
        raise MessageRefused(dns.rcode.NOTZONE, f"{name} is not inside {zone_name}")
    return name


def _refuse_form(rrset: dns.rrset.RRset, *, has_ttl: bool) -> None:
    if rrset.rdclass != dns.rdataclass.IN:
        raise MessageRefused(dns.rcode.FORMERR, "a record of another class than its zone")
    if rrset.ttl and not has_ttl:
        raise MessageRefused(dns.rcode.FORMERR, "a TTL where there has to be none")
    _refuse_meta_type(int(rrset.rdtype))


def _refuse_meta_type(type_: int, *, unless_any: bool = False) -> None:
    is_meta = dns.rdatatype.is_metatype(dns.rdatatype.RdataType.make(type_))
    if is_meta and not (unless_any and type_ == ANY):
        raise MessageRefused(dns.rcode.FORMERR, f"{rdata.type_to_text(type_)} is no type of records")


def _text(rrset: dns.rrset.RRset) -> str:
    return rdata.from_wire(int(rrset.rdtype), rrset[0].to_wire() or b"")


def _carry_out(act: Act, at: _Name, *, is_apex: bool) -> None:
    match act:
        case Add():
            _add(act, at, is_apex=is_apex)
        case DeleteRecord():
            _delete_record(act, at, is_apex=is_apex)
        case DeleteRRset():
            for type_ in [act.type] if act.type != ANY else list(at.rrsets):
                if not (is_apex and type_ in _APEX_KEEPS):
                    at.drop_served(type_)


def _add(act: Add, at: _Name, *, is_apex: bool) -> None:
    """Add or enable a record and set its RRset's TTL, unless it conflicts with others (RFC 2136 section 3.4.2.2)."""
    if act.type == rdtypes.SOA and not (is_apex and _is_newer_soa(act, at)):
        return
    others = [type_ for type_ in at.rrsets if type_ != rdtypes.CNAME and at.is_in_use(type_)]
    if (act.type == rdtypes.CNAME and others) or (act.type != rdtypes.CNAME and at.is_in_use(rdtypes.CNAME)):
        return
    values = at.rrsets.setdefault(act.type, _Values(act.ttl, {}))
    values.ttl = act.ttl
    if act.type in _SINGLE:
        at.drop_served(act.type)
    folded = rdata.fold(act.type, act.text)
    values.texts[folded] = act.text
    values.disabled = tuple(text for text in values.disabled if text != folded)
    at.touched.add(act.type)


def _is_newer_soa(act: Add, at: _Name) -> bool:
    now = at.rrset(act.name, rdtypes.SOA)
    return now is not None and soa.serial_of(now) < soa.serial_of(make(act.name, act.type, act.ttl, [act.text]))


def _delete_record(act: DeleteRecord, at: _Name, *, is_apex: bool) -> None:
    """Delete a record, except the SOA and the last NS at the apex (RFC 2136 section 3.4.2.4)."""
    served, folded = at.served_texts(act.type), rdata.fold(act.type, act.text)
    if folded not in served or act.type == rdtypes.SOA:
        return
    if is_apex and act.type == rdtypes.NS and len(served) == 1:
        return
    del at.rrsets[act.type].texts[folded]
    at.touched.add(act.type)
