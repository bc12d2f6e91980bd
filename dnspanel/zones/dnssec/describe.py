"""What a change of signing was, in words for the history of a zone. Pure."""

from collections.abc import Iterator, Mapping

from dnspanel.zones.dnssec.key_material import ALGORITHMS
from dnspanel.zones.dnssec.signing_state import DELETE, KeyState, SigningState
from replication.codec.dnssec import Nsec3


def describe_change(before: SigningState, after: SigningState, tags: Mapping[int, int]) -> list[str]:
    """The parts of the change; `tags` has the tags of keys by their ids."""
    return [
        *_of_state(before, after),
        *_of_keys(before, after, tags),
        *_of_denial(before, after),
        *_of_cds(before, after),
    ]


def describe_denial(nsec3: Nsec3 | None) -> str:
    """How it is proved that a name does not exist: "NSEC", "NSEC3 with opt-out, narrow"."""
    if nsec3 is None:
        return "NSEC"
    more = [word for word, has_it in (("opt-out", nsec3.opt_out), ("narrow", nsec3.narrow)) if has_it]
    if nsec3.iterations:
        more.append(f"{nsec3.iterations} iteration{'' if nsec3.iterations == 1 else 's'}")
    if nsec3.salt:
        more.append(f"salt {nsec3.salt.hex()}")
    return f"NSEC3 with {', '.join(more)}" if more else "NSEC3"


def describe_polling(state: SigningState) -> str:
    """What a parent will do that looks for the CDS and CDNSKEY of a zone that is signed so, in a sentence or two."""
    if not state.keys or not (state.cds or state.cdnskey):
        return "A parent that looks for them finds none, and leaves its DS as it is."
    found = " or ".join(name for name, has_it in (("CDS", state.cds), ("CDNSKEY", state.cdnskey)) if has_it)
    if state.cds == DELETE:
        return (
            f"A parent that looks for {found} deletes its DS: the zone is insecure then, and nobody checks signatures. "
            "One without a DS adds none."
        )
    return (
        f"A parent that looks for {found} replaces its DS by that of the keys here. One without a DS takes the first "
        "only if it trusts unsigned zones to ask for it (RFC 8078, 9615)."
    )


def signing_algorithms(state: SigningState) -> str:
    """The names of the algorithms of keys that sign."""
    # Of a zone that came signed, the keys are in its records.
    return ", ".join(ALGORITHMS[number] for number in sorted({key.algorithm for key in state.keys if key.active}))


def _of_state(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.paused and not before.paused:
        yield "denial of existence paused, while its records change"
    elif before.paused and not after.paused:
        yield "denial of existence goes on"
    if after.presigned and not before.presigned:
        yield "served with the signatures that it came with"
    if before.presigned and not after.is_signed:
        yield "signatures dropped"
    elif after.is_signed and not before.is_signed and not after.presigned:
        yield f"signed with {signing_algorithms(after)}"
    if before.is_signed and not after.is_signed and not before.presigned:
        yield "no key signs any more" if after.keys else "unsigned"


def _of_keys(before: SigningState, after: SigningState, tags: Mapping[int, int]) -> Iterator[str]:
    for key in after.keys:
        old = before.key(key.id)
        if old is None:
            yield f"key {_tag(key, tags)} added{_rest(key)}"
            continue
        if old.active != key.active:
            yield f"key {_tag(key, tags)} {'signs' if key.active else 'does not sign'}"
        if old.published != key.published:
            yield f"key {_tag(key, tags)} {'published' if key.published else 'hidden'}"
    for key in before.keys:
        if after.key(key.id) is None:
            yield f"key {_tag(key, tags)} deleted"


def _tag(key: KeyState, tags: Mapping[int, int]) -> str:
    return str(tags.get(key.id, f"no. {key.id}"))


def _rest(key: KeyState) -> str:
    rest = [word for word, has_it in (("does not sign", not key.active), ("hidden", not key.published)) if has_it]
    return f" ({', '.join(rest)})" if rest else ""


def _of_denial(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.has_chain and before.denial != after.denial:
        if after.denial is None:
            due = f", on the way to {describe_denial(after.due_nsec3)}" if after.due_nsec3 else ""
            yield f"NSEC3 off{due}"
        elif before.denial is None:
            yield describe_denial(after.denial).replace("NSEC3", "NSEC3 on", 1)
        else:
            yield describe_denial(after.denial)


def _of_cds(before: SigningState, after: SigningState) -> Iterator[str]:
    if after.keys and before.cds != after.cds:
        yield f"CDS {after.cds.replace(',', ', ')}" if after.cds else "CDS off"
    if after.keys and before.cdnskey != after.cdnskey:
        yield "CDNSKEY on" if after.cdnskey else "CDNSKEY off"
