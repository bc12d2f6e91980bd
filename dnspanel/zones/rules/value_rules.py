"""Check single RRsets for values that clients ignore or reject, and for names that people can confuse with others.

The functions are pure and need no other RRsets. `rules` has the checks that need other RRsets, and `mail_rules` has the
checks of mail records.
"""

from collections.abc import Iterable, Iterator

from dnspanel.small_cache import small_cache
from dnspanel.texts import gettext, join_list, joined, spoken
from dnspanel.zones.rules import confusables
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset

Finding = tuple[str, str, str]  # severity, code, message

_MUST_BE_HOSTS = frozenset((rdtypes.MX, rdtypes.NS, rdtypes.SRV))
_TRANSPORTS = frozenset(("_tcp", "_udp", "_sctp", "_dccp"))  # RFC 6698 3
# RFC 8659 4, RFC 9495, and other tags registered with IANA.
_CAA_TAGS = frozenset(("issue", "issuewild", "iodef", "contactemail", "contactphone", "issuevmc", "issuemail"))
_CAA_ISSUES = frozenset(("issue", "issuewild", "issuevmc", "issuemail"))
OWNERS = frozenset((rdtypes.SRV, rdtypes.TLSA))  # types that clients only look up at names of a certain form
OWNER_CODES = frozenset(("srv-owner", "tlsa-owner"))
HOST_OWNERS = frozenset((rdtypes.A, rdtypes.AAAA, rdtypes.ALIAS, rdtypes.MX))  # types of hosts and mail domains
# The types that `check_values` checks.
TYPES = _MUST_BE_HOSTS | {rdtypes.TLSA, rdtypes.CAA}


def check_values(rrset: RRset) -> Iterator[Finding]:
    """Yield findings about the served records of an RRset whose type is in TYPES."""
    if rrset.type in _MUST_BE_HOSTS:
        yield from _hosts(rrset)
    if rrset.type == rdtypes.SRV and is_misplaced(rrset.name, rrset.type):
        yield (
            "warning",
            "srv-owner",
            gettext("clients look up SRV records at names such as _sip._tcp, not at {name}").format(name=rrset.name),
        )
    elif rrset.type == rdtypes.TLSA and is_misplaced(rrset.name, rrset.type):
        yield (
            "warning",
            "tlsa-owner",
            gettext("clients look up TLSA records at names such as _443._tcp, not at {name}").format(name=rrset.name),
        )
    elif rrset.type == rdtypes.CAA:
        yield from _caa(rrset)


@small_cache(entries=4096, longest=512)
def breaks_hosts(type: int, texts: tuple[str, ...]) -> bool:
    """Return True if one of these MX, NS or SRV records points to a name that isn't a host name. Cached."""
    return any(_fault_of_target(target) for text in texts for target in _targets(type, text))


def is_misplaced(name: str, type: int) -> bool:
    """Return True if clients never look up SRV or TLSA records (`type`) at this name.

    For SRV, see RFC 2782, and RFC 6763 4.1 for names that begin with a service instance.
    """
    first, second, third, *_ = (*_first_labels(name), "", "")
    if type == rdtypes.SRV:
        return not any(
            above.startswith("_") and (label == "*" or label.startswith("_"))
            for label, above in ((first, second), (second, third))
        )
    is_port = first == "*" or (first.startswith("_") and first[1:].isdecimal())
    return not (is_port and second in _TRANSPORTS)


def _first_labels(name: str) -> list[str]:
    """Return up to three labels and the rest of the name. An escaped dot, as in DNS-SD, doesn't split a label."""
    if "\\" in name:
        return [label.decode("latin-1") for label in names.labels(name)[:3]]
    return name.split(".", 3)


def _hosts(rrset: RRset) -> Iterator[Finding]:
    word = rdata.type_to_text(rrset.type)
    for target in sorted({target for text in rrset.served for target in _targets(rrset.type, text)}):
        if fault := _fault_of_target(target):
            code, reason = fault
            yield (
                "warning",
                code,
                gettext("{word} {name} points to {target}: {reason}").format(
                    word=word, name=rrset.name, target=target, reason=reason
                ),
            )


def _targets(type: int, text: str) -> Iterator[str]:
    return (target for target in rdata.targets(type, text) if target != names.ROOT)


@small_cache(entries=4096, longest=512)
def _fault_of_target(target: str) -> tuple[str, str] | None:
    """Return the rule's code and the reason if a name can't be a host name, or None if it can."""
    if looks_like_address(target):
        return "target-is-address", gettext("the target looks like an IP address, but must be a host name")
    if is_host(target):
        return None
    return "target-not-host", gettext(
        "the target isn’t a valid host name, which can only have letters, digits and hyphens (RFC 1123)"
    )


def looks_like_address(name: str) -> bool:
    """Return True if a name's last label is a number, as in an IPv4 address."""
    return name.rstrip(".").rpartition(".")[2].isdigit()


def is_host(name: str) -> bool:
    """Return True if a name can be a host name."""
    return all(map(_is_of_host, name.rstrip(".").split(".")))


def is_host_below(name: str, zone: str) -> bool:
    """Return True for the apex, and if the labels below it (also after `*.`) form a host name or are below `_msdcs`."""
    below = name.removesuffix(zone).removeprefix("*.")
    return not below or is_host(below) or below.endswith("._msdcs.")


def _is_of_host(label: str) -> bool:
    """Return True if a label is allowed in a host name (RFC 1123 2.1)."""
    return label.isascii() and label.replace("-", "").isalnum() and not (label[0] == "-" or label[-1] == "-")


def _caa(rrset: RRset) -> Iterator[Finding]:
    issuers: dict[str, set[str]] = {}
    for text in rrset.served:
        if found := fault_of_caa(text):
            severity, code, reason = found
            yield severity, code, gettext("CAA {name}: {reason}").format(name=rrset.name, reason=reason)
        tag, value = _tag_and_value(text)
        if tag in _CAA_ISSUES:
            issuers.setdefault(tag, set()).add(value.partition(";")[0].strip())
    for tag, of_tag in issuers.items():
        if "" in of_tag and len(of_tag) > 1:
            message = gettext(
                "CAA {name}: the {tag} record that allows no authority has no effect because another record allows one"
            ).format(name=rrset.name, tag=tag)
            yield "note", "caa-nobody", message


@small_cache(entries=4096, longest=512)
def fault_of_caa(text: str) -> Finding | None:
    """Return a finding if certificate authorities can't interpret this CAA record, or None if they can."""
    tag, value = _tag_and_value(text)
    if tag not in _CAA_TAGS:
        return "note", "caa-tag", gettext("certificate authorities don’t support the tag “{tag}”").format(tag=tag)
    issuer = value.partition(";")[0]
    is_name = all(map(_is_of_host, issuer.strip().lower().split(".")))
    if tag in _CAA_ISSUES and issuer.strip() and not is_name:
        return (
            "warning",
            "caa-issuer",
            gettext("“{issuer}” isn’t a valid certificate authority domain").format(issuer=issuer.strip()),
        )
    if tag == "iodef" and not value.lower().startswith(("mailto:", "http://", "https://")):
        return (
            "warning",
            "caa-iodef",
            gettext("“{value}” isn’t a valid report address; use a mailto: or https: URL").format(value=value),
        )
    return None


def _tag_and_value(text: str) -> tuple[str, str]:
    _, tag, value = text.split(" ", 2)
    return tag.lower(), value[1:-1]


def look_alikes(name_labels: Iterable[bytes]) -> Iterator[Finding]:
    """Yield findings about internationalized labels that people can confuse with other names (UTS 39)."""
    for label in name_labels:
        if label.startswith(b"xn--"):
            yield from ((severity, code, spoken(message)) for severity, code, message in _look_alikes_of(label))


@small_cache(entries=4096, longest=512)
def _look_alikes_of(label: bytes) -> tuple[Finding, ...]:
    text = names.display(f"{label.decode('ascii')}.")[:-1]
    if text.isascii():
        return ()
    what, plain = (
        gettext("{decode} is “{text}”").format(decode=label.decode("ascii"), text=text),
        confusables.looks_like(text),
    )
    taken = (
        gettext("the name looks similar to “{plain}”").format(plain=plain)
        if plain
        else gettext("the name might be misleading")
    )
    if scripts := confusables.mixed_scripts(text):
        return (
            (
                "warning",
                "mixed-scripts",
                gettext("{what} and mixes letters from {list}: {taken}").format(
                    what=what, list=join_list(scripts), taken=taken
                ),
            ),
        )
    return (("note", "looks-like-ascii", joined(": ", (what, taken))),) if plain else ()
