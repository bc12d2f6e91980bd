"""The picture of a zone's chain of trust: root, parent, DS, keys and answers, and what the panel knows about each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnspanel.fleet.dnssec.node_answers import NodeAnswer, Verdict
from dnspanel.fleet.models import ParentState
from dnspanel.fleet.reads.parent_check import ParentView
from dnspanel.texts import gettext, gettext_lazy, join_list
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyView
from dnspanel.zones.signing.safety import ParentHere

# Further boxes of a column are only counted. Boxes with faults come first.
MOST_BOXES = 6
_ORDER = ("bad", "warn", "ok", "quiet")
_UNCHECKED = gettext_lazy("not checked yet")
_ROOT_NOTES = {
    "secure": (gettext_lazy("the zone validates from here"), "ok"),
    "insecure": (gettext_lazy("a zone on the way isn’t signed"), "warn"),
    "bogus": (gettext_lazy("the zone doesn’t validate from here"), "bad"),
}
_PARENT_NOTES = {
    "unknown": (_UNCHECKED, "quiet"),
    "missing": (gettext_lazy("has no DS"), "warn"),
    "broken": (gettext_lazy("has a wrong DS"), "bad"),
    "partial": (gettext_lazy("has the DS on some servers"), "warn"),
}
_KEY_NOTES = {
    KeyRole.KSK: gettext_lazy("signs the keys"),
    KeyRole.ZSK: gettext_lazy("signs the records"),
    KeyRole.CSK: gettext_lazy("signs keys and records"),
}

AnyKey = KeyView | OtherKey


@dataclass(frozen=True, slots=True)
class Box:
    """One box of the picture. The tone "quiet" means that it isn't checked yet, or not in use."""

    title: str
    note: str
    tone: str = "quiet"


@dataclass(frozen=True, slots=True)
class DisplayAnswer:
    """A node's answer about the zone, and whether the zone is signed."""

    answer: NodeAnswer
    is_signed: bool

    @property
    def tone(self) -> str:
        if self.answer.verdict is Verdict.UNSIGNED:
            return "warn" if self.is_signed else "quiet"
        return "ok" if self.answer.verdict is Verdict.VALIDATES else "bad"


@dataclass(frozen=True, slots=True)
class ParentSide:
    """The parent's part of the chain. `sets` maps each server to its DS records, or is None before the first check.

    `root` is the verdict of the validation from the root, or "" if the chain with these DS records wasn't validated.
    """

    name: str
    sets: Mapping[str, Sequence[str]] | None
    state: str = ParentState.UNKNOWN
    root: str = ""

    @classmethod
    def of(cls, view: ParentView, here: ParentHere | None) -> "ParentSide":
        """Return what the last check found, or the DS of a parent in this panel. A hidden parent has no name."""
        check = view.check
        found = check.found.get("servers", {}) if check is not None and check.known_at else None
        sets = found if here is None else {"": list(here.ds)}
        name = here.name if here is not None and view.knows_here else view.name
        if check is None or found is None or sets is None or [*found.values()] != [*sets.values()]:
            return cls(name, sets)
        return cls(name, sets, check.state, check.found.get("root", ""))


@dataclass(frozen=True, slots=True)
class Chain:
    """A zone's chain of trust. `verdict` describes its part above the keys: see `_verdict_on`."""

    zone_name: str
    verdict: str
    root: Box
    parent: Box
    entries: list[tuple[Box, Box]]  # a DS, and the key that it names
    more_entries: int
    zsks: list[Box]
    more_zsks: int
    records: Box
    answers: list[DisplayAnswer] | None  # None if the nodes weren't queried

    @property
    def wrong_answers(self) -> list[DisplayAnswer]:
        """The first answers that don't validate."""
        return [each for each in self.answers or () if each.tone in ("bad", "warn")][: 2 * MOST_BOXES]


def chain_of(
    zone_name: str, parent: ParentSide, keys: Sequence[AnyKey] | None, answers: list[DisplayAnswer] | None = None
) -> Chain:
    """Return a zone's chain. `keys` is None if they aren't known here, or if the person isn't allowed to see them."""
    entries = sorted(_entries(zone_name, parent, keys, answers), key=lambda pair: _ORDER.index(pair[0].tone))
    verdict = _verdict_on(parent, {ds.tone for ds, _ in entries}, is_known=keys is not None)
    zsks = [_key_box(key, answers) for key in keys or () if not _is_entry(key)]
    return Chain(
        zone_name,
        verdict,
        Box(gettext("Root"), *_ROOT_NOTES.get(parent.root, (_UNCHECKED, "quiet"))),
        Box(parent.name or gettext("Parent zone"), *_PARENT_NOTES.get(verdict, (gettext("has the DS"), "ok"))),
        entries[:MOST_BOXES],
        len(entries[MOST_BOXES:]),
        sorted(zsks, key=lambda box: _ORDER.index(box.tone))[:MOST_BOXES],
        len(zsks[MOST_BOXES:]),
        _records_box(answers),
        answers,
    )


def _verdict_on(parent: ParentSide, tones: set[str], *, is_known: bool) -> str:
    """Return "unknown", "missing", "broken", "partial", "linked" (not validated from the root), or the root's verdict.

    `tones` are those of the DS. A chain is "broken" if no DS names a known key that signs, or if the parent check found
    the DS wrong.
    """
    if parent.sets is None:
        return "unknown"
    if not any(parent.sets.values()):
        return "missing"
    if parent.state in (ParentState.DIFFERS, ParentState.BOGUS) or (is_known and not tones & {"ok", "warn"}):
        return "broken"
    return "partial" if not all(parent.sets.values()) else parent.root or "linked"


def _entries(
    zone_name: str, parent: ParentSide, keys: Sequence[AnyKey] | None, answers: list[DisplayAnswer] | None
) -> Iterator[tuple[Box, Box]]:
    """Yield each DS at the parent with the key that it names, then each key without a DS that can have one."""
    groups: dict[str, list[tuple[str, str]]] = {}  # tag and algorithm → servers and DS
    for server, texts in (parent.sets or {}).items():
        for text in texts:
            groups.setdefault(" ".join(text.split(" ", 2)[:2]), []).append((server, text))
    named = []
    for mark, found in groups.items():
        tag = mark.split(" ", 1)[0]
        texts = [text for _, text in found]
        key = next((key for key in keys or () if str(key.tag) == tag and _is_named(zone_name, key, texts)), None)
        if key is not None:
            named.append(key)
            note = _ds_note(zone_name, key, texts, parent, {server for server, _ in found})
            yield Box(f"DS {tag}", *note), _key_box(key, answers)
        elif keys is None:
            yield Box(f"DS {tag}", ""), Box(gettext("Key {tag}").format(tag=tag), _UNCHECKED)
        else:
            yield (
                Box(f"DS {tag}", gettext("matches no key"), "bad"),
                Box(gettext("No key {tag}").format(tag=tag), "", "bad"),
            )
    for key in keys or ():
        if key not in named and _is_entry(key):
            unknown = parent.sets is None
            yield Box("DS", _UNCHECKED if unknown else gettext("not at the parent")), _key_box(key, answers)
    if not keys and not groups:
        yield Box("DS", _UNCHECKED if parent.sets is None else gettext("none")), Box(gettext("No keys"), "")


def _is_named(zone_name: str, key: AnyKey, texts: Sequence[str]) -> bool:
    return key_material.is_named_by(zone_name, key.flags, key.algorithm, key.public, texts)


def _ds_note(
    zone_name: str, key: AnyKey, texts: Sequence[str], parent: ParentSide, servers: set[str]
) -> tuple[str, str]:
    if not all(_is_named(zone_name, key, [text]) for text in texts):
        return gettext("a digest doesn’t match"), "bad"
    if isinstance(key, KeyView) and not (key.active and key.published):
        return gettext("the key isn’t in use"), "quiet"
    total = len(parent.sets or ())
    if len(servers) < total:
        return gettext("on {count} of {total} servers").format(count=len(servers), total=total), "warn"
    return gettext("matches the key"), "ok"


def _is_entry(key: AnyKey) -> bool:
    return key.role is not KeyRole.ZSK if isinstance(key, KeyView) else key.is_sep


def _key_box(key: AnyKey, answers: list[DisplayAnswer] | None) -> Box:
    """Return the box of a key. Its tone is "ok" if every node that answered has the key's DNSKEY record."""
    if isinstance(key, KeyView):
        title, note = f"{key.role.upper()} {key.tag}", _KEY_NOTES[key.role]
        if not key.published:
            return Box(title, gettext("hidden"))
        note = note if key.active else gettext("inactive")
    else:
        title, note = gettext("Key {tag}").format(tag=key.tag), gettext("outside this panel")
    answered = [each.answer for each in answers or () if each.answer.verdict is not Verdict.SILENT]
    lacking = [answer.node for answer in answered if key.tag not in answer.tags]
    if lacking:
        nodes = join_list(lacking[:3])
        if len(lacking) > 3:
            nodes = gettext("{listed} and {count} more").format(listed=", ".join(lacking[:3]), count=len(lacking) - 3)
        return Box(title, gettext("not on {nodes}").format(nodes=nodes), "bad")
    return Box(title, note, "ok" if answered else "quiet")


def _records_box(answers: list[DisplayAnswer] | None) -> Box:
    """Return the box of the zone's records. Its tone is that of the worst answer."""
    tones = [each.tone for each in answers or ()]
    tone = min(tones, key=_ORDER.index, default="quiet")
    if tone == "quiet":
        return Box(gettext("Answers"), gettext("not signed") if tones else gettext("nodes not checked yet"))
    text = gettext("valid on {valid} of {total} nodes").format(valid=tones.count("ok"), total=len(tones))
    return Box(gettext("Answers"), text, tone)
