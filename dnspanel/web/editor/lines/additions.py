"""Add quick-add entries to RRsets in the author's draft, and describe the effect. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.lines.quick_add import Entry
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import NO_NOTES, RRset, make

FALLBACK_TTL = 3600
# A second value of these types makes no sense, so quick add offers to replace the first value.
ONE_VALUE = frozenset({rdtypes.CNAME, rdtypes.DNAME, rdtypes.SOA, rdtypes.ALIAS})


class Occupied(Exception):
    """Raised if the type allows only one value and `now` has a different one. Replacing it needs a confirmation."""

    def __init__(self, now: RRset) -> None:
        super().__init__(
            gettext("{type_to_text} {name} already exists").format(
                type_to_text=rdata.type_to_text(now.type), name=now.name
            )
        )
        self.now = now

    @property
    def message(self) -> str:
        return gettext("This name already has a {type_to_text} record: {rdata}").format(
            type_to_text=rdata.type_to_text(self.now.type), rdata=readable_text(self.now.rdata[0])
        )


@dataclass(frozen=True, slots=True)
class Addition:
    """The RRset before and after the addition, with sentences about the effect.

    `value` is the added value, and `ttl_is_set` means that the entry has a TTL.
    """

    rrset: RRset
    before: RRset | None
    value: str
    ttl_is_set: bool
    says: tuple[str, ...]

    @property
    def changes_nothing(self) -> bool:
        return self.rrset == self.before


def add_entry(entry: Entry, now: RRset | None, default_ttl: int, *, replace: bool = False) -> Addition:
    """Return the RRset with the entry's value added, or with only this value if `replace` is true.

    The TTL belongs to the RRset: a line with a TTL sets the TTL of all values, and a line without a TTL doesn't change
    it. A new RRset gets the TTL from `$TTL` or the zone's default. Raise Occupied if the type allows only one value and
    `now` has a different one. Raise BadRRset if the result is invalid.
    """
    kept = () if now is None or replace else now.rdata
    value = [entry.rdata]
    if entry.type in ONE_VALUE and kept and not rdata.in_both(entry.type, value, kept):
        assert now is not None
        raise Occupied(now)
    if entry.ttl is not None:
        ttl = entry.ttl
    else:
        ttl = now.ttl if now else default_ttl if entry.default_ttl is None else entry.default_ttl
    disabled = rdata.not_among(entry.type, [text for text in (now.disabled if now else ()) if text in kept], value)
    if entry.disabled:
        disabled = (*disabled, entry.rdata)
    comment = entry.comment or (now.comment if now else "")
    notes = now.notes if now else NO_NOTES
    rrset = make(entry.name, entry.type, ttl, (*kept, entry.rdata), disabled, comment, notes=notes)
    says = (*_about_the_rrset(entry, now, rrset, replace=replace), *entry.notes)
    return Addition(rrset, now, entry.rdata, entry.ttl is not None, says)


def add_entries(entries: Iterable[Entry], now: RRset | None, default_ttl: int) -> Addition:
    """Return one RRset with several entries added, and sentences about the last. Raise the errors of `add_entry`."""
    addition: Addition | None = None
    for entry in entries:
        addition = add_entry(entry, addition.rrset if addition else now, default_ttl)
    assert addition is not None
    return Addition(addition.rrset, now, addition.value, addition.ttl_is_set, addition.says)


def _about_the_rrset(entry: Entry, now: RRset | None, rrset: RRset, *, replace: bool) -> Iterable[str]:
    if now is None:
        return
    what = f"{rdata.type_to_text(now.type)} {names.display(now.name)}"
    value = [entry.rdata]
    same = rdata.in_both(now.type, now.rdata, value)
    others = len(now.rdata) - len(same)
    if replace:
        yield gettext("Replaces {rdata}.").format(rdata=readable_text(now.rdata[0]))
    elif same and not rdata.in_both(now.type, now.disabled, value):
        yield gettext("{what} already has this value.").format(what=what)
    elif same:
        yield gettext("This value of {what} is disabled and will be enabled.").format(what=what)
    else:
        yield ngettext(
            "Adds the value to {others} existing value of {what}.",
            "Adds the value to {others} existing values of {what}.",
            others,
        ).format(others=others, what=what)
    if rrset.ttl != now.ttl:
        yield about_the_ttl(now, rrset)


def about_the_ttl(now: RRset, rrset: RRset) -> str:
    return gettext(
        "All values in an RRset have the same TTL, so the TTL of the other values will also change from "
        "{ttl} to {ttl2}."
    ).format(ttl=now.ttl, ttl2=rrset.ttl)
