"""Describe changes to a zone's signing, for the zone's history. Pure."""

from collections.abc import Iterator, Mapping

from dnspanel.texts import gettext, joined, ngettext
from dnspanel.zones.dnssec.key_material import ALGORITHMS
from dnspanel.zones.dnssec.signing_state import DELETE, KeyState, SigningState
from replication.codec.dnssec import Nsec3


def describe_change(before: SigningState, after: SigningState, tags: Mapping[int, int]) -> list[str]:
    """Describe each part of a signing change. `tags` maps key ids to key tags."""
    return [
        *_of_state(before, after),
        *_of_keys(before, after, tags),
        *_of_denial(before, after),
        *_of_cds(before, after),
    ]


def describe_denial(nsec3: Nsec3 | None) -> str:
    """Describe the denial of existence, such as "NSEC" or "NSEC3 with opt-out, narrow"."""
    if nsec3 is None:
        return "NSEC"
    more = _parameters(nsec3)
    return gettext("NSEC3 with {parameters}").format(parameters=more) if more else "NSEC3"


def describe_polling(state: SigningState) -> str:
    """Describe the effect of this state on a parent that polls CDS and CDNSKEY, in one or two sentences."""
    if not state.keys or not (state.cds or state.cdnskey):
        return gettext("The zone doesn’t have CDS or CDNSKEY records, so the parent zone will keep its DS.")
    found = "CDS" if state.cds else "CDNSKEY"
    if state.cds and state.cdnskey:
        found = gettext("CDS or CDNSKEY")
    if state.cds == DELETE:
        message = gettext(
            "A parent that checks {records} will remove the DS. This zone then becomes insecure, and "
            "resolvers no longer validate its signatures."
        )
    else:
        message = gettext(
            "A parent that checks {records} will replace its DS with the DS for these keys. Only some parents "
            "add the first DS this way (RFC 8078, 9615)."
        )
    return message.format(records=found)


def signing_algorithms(state: SigningState) -> str:
    """Return the active keys' algorithm names, comma-separated. Return "" for a presigned zone."""
    # The keys of a presigned zone are in its records.
    return ", ".join(ALGORITHMS[number] for number in sorted({key.algorithm for key in state.keys if key.active}))


def _of_state(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.paused and not before.paused:
        yield gettext("denial of existence paused while NSEC or NSEC3 records change")
    elif before.paused and not after.paused:
        yield gettext("denial of existence resumed")
    if after.presigned and not before.presigned:
        yield gettext("served with imported signatures")
    if before.presigned and not after.is_signed:
        yield gettext("signatures deleted")
    elif after.is_signed and not before.is_signed and not after.presigned:
        yield gettext("signed with {algorithms}").format(algorithms=signing_algorithms(after))
    if before.is_signed and not after.is_signed and not before.presigned:
        yield gettext("no signing key left") if after.keys else gettext("unsigned")


def _of_keys(before: SigningState, after: SigningState, tags: Mapping[int, int]) -> Iterator[str]:
    for key in after.keys:
        old = before.key(key.id)
        if old is None:
            yield _text_of_added_key(key).format(key=_tag(key, tags))
            continue
        if old.active != key.active:
            message = gettext("key {key} started signing") if key.active else gettext("key {key} stopped signing")
            yield message.format(key=_tag(key, tags))
        if old.published != key.published:
            message = gettext("key {key} published") if key.published else gettext("key {key} hidden")
            yield message.format(key=_tag(key, tags))
    for key in before.keys:
        if after.key(key.id) is None:
            yield gettext("key {key} deleted").format(key=_tag(key, tags))


def _tag(key: KeyState, tags: Mapping[int, int]) -> str:
    return str(tags[key.id]) if key.id in tags else gettext("no. {id}").format(id=key.id)


def _text_of_added_key(key: KeyState) -> str:
    if key.active:
        return gettext("key {key} added") if key.published else gettext("key {key} added (hidden)")
    if key.published:
        return gettext("key {key} added (does not sign)")
    return gettext("key {key} added (does not sign, hidden)")


def _parameters(nsec3: Nsec3) -> str:
    """Return the NSEC3 parameters that aren't the defaults, such as "opt-out, narrow", or ""."""
    found: list[str] = []
    if nsec3.opt_out:
        found.append(gettext("opt-out"))
    if nsec3.narrow:
        found.append(gettext("narrow"))
    if nsec3.iterations:
        count = nsec3.iterations
        found.append(ngettext("{count} iteration", "{count} iterations", count).format(count=count))
    if nsec3.salt:
        found.append(gettext("salt {salt}").format(salt=nsec3.salt.hex()))
    return joined(", ", found) if found else ""


def _of_denial(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.has_chain and before.denial != after.denial:
        if after.denial is None:
            due = describe_denial(after.due_nsec3) if after.due_nsec3 else ""
            yield gettext("NSEC3 off, changing to {due}").format(due=due) if due else gettext("NSEC3 off")
        elif before.denial is None:
            more = _parameters(after.denial)
            yield gettext("NSEC3 on with {parameters}").format(parameters=more) if more else gettext("NSEC3 on")
        else:
            yield describe_denial(after.denial)


def _of_cds(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.keys and before.cds != after.cds:
        yield f"CDS {after.cds.replace(',', ', ')}" if after.cds else gettext("CDS off")
    if after.keys and before.cdnskey != after.cdnskey:
        yield gettext("CDNSKEY on") if after.cdnskey else gettext("CDNSKEY off")
