"""Describe faults of unreadable entries: the faulty token, a reason for the user, and a corrected line.

A corrected line is only offered for an entry of one line. Corrected rdata is only offered if it is valid.
"""

import difflib
import ipaddress
import re
from collections.abc import Collection, Iterator

from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.zonefile.zonefile_tokens import Token, Unreadable, join_tokens
from dnspanel.zones.rules.name_rules import is_doubtful_soa, mailbox_text
from replication.dns import names, rdata, rdtypes
from replication.dns.rdata_forms import FORMS
from replication.dns.rdtypes import SERVED_TYPES, type_from_text, type_to_text
from replication.errors import BadName, BadRdata

_MNEMONICS = sorted(type_to_text(number) for number in SERVED_TYPES)
# Other providers' names for types that the panel supports.
_SYNONYMS = {"ANAME": "ALIAS", "FLATTENED": "ALIAS"}
_LEAST_LIKENESS = 0.6
_NAMES = frozenset((rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, rdtypes.ALIAS))
_ADDRESSES = {rdtypes.A: 4, rdtypes.AAAA: 6}
_TYPOGRAPHIC = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "″": '"', "«": '"', "»": '"'})
_INVISIBLE = re.compile("[\u00a0\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff\x85]")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//([^/:?#]+)(?::\d+)?(?:[/?#].*)?", re.IGNORECASE)
_HOST_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?\.?", re.IGNORECASE)
_LABEL_ENDS = re.compile(r"(?<!\\)\.")
Line = str | None


def replace_token(line: Line, token: Token, text: str) -> str:
    """Return the line with other text in place of the token, or "" if the entry has several lines."""
    return "" if line is None else line[: token.column - 1] + text + line[token.end - 1 :]


def check_characters(tokens: list[Token], line: Line) -> None:
    """Raise Unreadable for characters in unquoted text that word processors insert, such as curly quotes."""
    for token in tokens:
        if token.quoted or token.text.isascii():
            continue
        if match := _INVISIBLE.search(token.text):
            reason = gettext("the character {code} is invisible or looks like a space").format(
                code=f"U+{ord(match[0]):04X}"
            )
            fix = "" if line is None else _INVISIBLE.sub(" ", line)
            raise Unreadable(reason, "invisible-character", token.column + match.start(), token.line, fix=fix)
        if token.text.translate(_TYPOGRAPHIC) != token.text:
            fix = "" if line is None else line.translate(_TYPOGRAPHIC)
            reason = gettext('use straight quotes (") instead of typographic quotes')
            raise Unreadable(reason, "quote", token.column, token.line, fix=fix)


def unknown_type(
    tokens: list[Token], at: int, line: Line, *, blank: bool, origin: str, unanswered: Collection[int] = ()
) -> Unreadable:
    """Return the fault for an entry with an unknown type, with a correction if a likely one is found.

    `blank` means that the entry begins with white space. `unanswered` are types that not every node supports.
    """
    token = tokens[at]
    first = tokens[0]
    if at == 1 and not blank and _is_type(first.text) and line is not None:
        reason = gettext("“{text}” isn’t a valid record type: check for a missing name before {type}").format(
            text=token.text, type=first.text
        )
        return Unreadable(reason, "type-unknown", token.column, token.line, fix=f"@ {line}")
    if "," in first.text and line is not None:
        reason = gettext("“{text}” isn’t a valid record type: use spaces instead of commas").format(text=token.text)
        return Unreadable(reason, "type-unknown", token.column, token.line, fix=_without_commas(line))
    meant = _meant_type(tokens, at, origin, unanswered)
    reason = (
        gettext("“{text}” isn’t a valid TTL or record type").format(text=token.text)
        if token.text[:1].isdigit()
        else gettext("“{text}” isn’t a valid record type").format(text=token.text)
    )
    if not meant:
        return Unreadable(reason, "type-unknown", token.column, token.line)
    reason = gettext("{reason} (suggestion: {type})").format(reason=reason, type=meant)
    return Unreadable(reason, "type-unknown", token.column, token.line, fix=replace_token(line, token, meant))


def _meant_type(tokens: list[Token], at: int, origin: str, unanswered: Collection[int]) -> str:
    """Return the type that was probably intended and allows the value, or "" if that is unclear.

    If the token is another provider's name for a type, only that type is considered: ANAME is similar to DNAME, which
    would redirect all names below its owner.
    """
    word, value = tokens[at].text.upper(), join_tokens(tokens[at + 1 :])
    if (synonym := _SYNONYMS.get(word)) is not None:
        close = [synonym]
    else:
        alike = [(difflib.SequenceMatcher(None, word, mnemonic).ratio(), mnemonic) for mnemonic in _MNEMONICS]
        best = max(ratio for ratio, _ in alike)
        close = [mnemonic for ratio, mnemonic in alike if ratio == best] if best >= _LEAST_LIKENESS else []
    if len(close) != 1 or (type := type_from_text(close[0])) in unanswered:
        return ""
    if type in _NAMES and _address(value):  # `192.0.2.1` is a valid name too, but never meant as one
        return ""
    return close[0] if _readable(("", type, value), origin) else ""


def missing_type(tokens: list[Token], line: Line) -> Unreadable:
    """Return the fault for an entry without a type."""
    last = tokens[-1]
    fix = _without_commas(line) if line is not None and "," in tokens[0].text else ""
    reason = gettext("record type missing, for example: www 300 A 192.0.2.1")
    return Unreadable(reason, "type-missing", last.end, last.line, fix=fix)


def _without_commas(line: str) -> str:
    return " ".join(re.split(r"[,\s]+", line.strip(", \t")))


def bad_owner(token: Token, error: Exception, line: Line) -> Unreadable:
    """Return the fault for an entry whose owner is not a domain name."""
    fix = ""
    if ".." in token.text or token.text.startswith("."):
        fix = replace_token(line, token, re.sub(r"\.{2,}", ".", token.text).lstrip("."))
    return Unreadable(str(error), "name", token.column, token.line, fix=fix)


def target_fix(line: str, token: Token) -> str:
    """Return a corrected line for a target that is a URL, contains an @ or lacks the trailing dot, or "" otherwise."""
    if match := _URL.fullmatch(token.text):
        return replace_token(line, token, match[1].rstrip(".") + ".")
    if "@" in token.text:
        return at_sign_fix(line, token, is_mailbox=False)
    if token.text.endswith(".") or "." not in token.text or _address(token.text):
        return ""
    return replace_token(line, token, token.text + ".")


def at_sign_fix(line: Line, token: Token, *, is_mailbox: bool) -> str:
    """Return the line that was probably intended for a name with an @ inside, or "" if that is unclear.

    People write @ as a label when they mean the zone, but relative names are below the zone anyway.
    """
    labels = _LABEL_ENDS.split(token.text.removesuffix("."))
    kept = [label for label in labels if label not in ("@", "\\@")]
    if len(kept) < len(labels):
        meant = ".".join(kept) + "." * (token.text.endswith(".") and bool(kept)) or "@"
    else:
        meant = mailbox_text(token.text) if is_mailbox else ""
    return replace_token(line, token, meant) if meant else ""


def soa_name_fix(line: Line, token: Token, zone: str, *, is_mailbox: bool) -> str:
    """Return the line that was probably intended for an SOA's primary or mailbox, or "" if that is unclear."""
    url = _URL.fullmatch(token.text)
    text = url[1] if url else token.text
    if "@" in text and is_mailbox:
        meant = mailbox_text(text)
    elif "@" in text:
        meant = text.replace("\\@", ".").replace("@", ".").removesuffix(".") + "."
    elif text.lower().endswith(f".{zone}"):
        meant = text[: -len(zone)]
    else:
        meant = text.removesuffix(".") + "."
    try:
        name = names.parse(meant, zone)
    except BadName:
        return ""
    names_ = f"{names.ROOT} {name}" if is_mailbox else f"{name} {names.ROOT}"
    is_better = meant != token.text and not is_doubtful_soa(f"{names_} 0 0 0 0 0", zone)
    return replace_token(line, token, meant) if is_better else ""


def _is_type(text: str) -> bool:
    try:
        rdtypes.type_from_text(text)
    except BadRdata:
        return False
    return True


def bad_rdata(type: int, tokens: list[Token], at: int, origin: str, line: Line, error: Exception) -> Unreadable:
    """Return the fault for rdata (from token `at`) that is invalid for its type, with a valid correction if found."""
    values = tokens[at:]
    reported = f" {str(error).rpartition(' value: ')[2]} ".replace("“", " ").replace("”", " ")
    culprit = next((token for token in values if token.text and f" {token.text} " in reported), values[0])
    fix = ""
    if line is not None:
        for changed in _guesses(type, tokens, at, line):
            if _readable(changed, origin):
                fix = changed[0]
                break
    return Unreadable(str(error), "rdata", culprit.column, culprit.line, fix=fix)


Guess = tuple[str, int, str]  # the line, with its type and rdata


def _readable(guess: Guess, origin: str) -> bool:
    try:
        rdata.parse(guess[1], guess[2], origin)
    except (BadRdata, BadName):
        return False
    return True


def _guesses(type: int, tokens: list[Token], at: int, line: str) -> Iterator[Guess]:
    """Yield possible corrections of the line, without checking them."""
    first = tokens[at]
    rest = line[first.column - 1 :]

    def with_rdata(text: str) -> Guess:
        return line[: first.column - 1] + text, type, text

    if type in _ADDRESSES and len(tokens) == at + 1:
        yield from _meant_address(type, tokens[at - 1], first, line)
    if type in FORMS and "," in rest:
        yield with_rdata(_without_commas(rest))
    if type in _NAMES and (match := _URL.fullmatch(first.text)):
        yield with_rdata(match[1].rstrip(".") + ".")
    if type in _NAMES and (address := _address(first.text)):
        mnemonic = "A" if address.version == 4 else "AAAA"
        yield (
            replace_token(replace_token(line, first, first.text), tokens[at - 1], mnemonic),
            rdtypes.type_from_text(mnemonic),
            first.text,
        )
    if type in (rdtypes.MX, rdtypes.AFSDB, rdtypes.KX):
        texts = [token.text for token in tokens[at:]]
        if len(texts) == 1 and _HOST_NAME.fullmatch(texts[0]) and not texts[0].isdigit():
            yield with_rdata(f"10 {texts[0]}")
        if len(texts) == 2 and texts[1].isdigit():
            yield with_rdata(f"{texts[1]} {texts[0]}")
    if any(token.quoted for token in tokens[at:]):
        yield with_rdata(rest.replace('"', ""))


def _meant_address(type: int, mnemonic: Token, value: Token, line: str) -> Iterator[Guess]:
    """Yield corrected lines for an invalid address.

    The address can belong to the other family, be a URL or a host name, or have a port, prefix, comma or leading zeros.
    """
    url = _URL.fullmatch(value.text)
    bare = (url[1] if url else value.text).strip(",").strip("[]").partition("/")[0]
    candidates = [bare, bare.replace(",", ".")]
    if bare.count(":") == 1:
        candidates.append(bare.partition(":")[0])
    if bare.count(".") == 3 and all(part.isdigit() and len(part) < 10 for part in bare.split(".")):
        candidates.append(".".join(str(int(part)) for part in bare.split(".")))
    for text in candidates:
        address = _address(text)
        if address is not None:
            right = rdtypes.A if address.version == 4 else rdtypes.AAAA
            changed = replace_token(line, value, text)
            yield (changed if right == type else replace_token(changed, mnemonic, type_to_text(right))), right, text
    if _HOST_NAME.fullmatch(bare) and re.search(r"[a-z]", bare, re.IGNORECASE):
        target = bare if bare.endswith(".") or "." not in bare else bare + "."
        yield replace_token(replace_token(line, value, target), mnemonic, "CNAME"), rdtypes.CNAME, target


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def unquoted_text(tokens: list[Token], at: int, line: Line) -> Unreadable | None:
    """Return a warning if a TXT without quotes has several words or is cut at a `;`, or None for any other entry.

    Each word of such a TXT becomes a separate string.
    """
    values = tokens[at:]
    if line is None or any(token.quoted for token in values):
        return None
    first, last = values[0], values[-1]
    cut = line[last.end - 1 : last.end] == ";"
    if len(values) == 1 and not cut:
        return None
    full_text = line[first.column - 1 :] if cut else line[first.column - 1 : last.end - 1]
    reason = ngettext(
        "this text has no quotes and is read as one string",
        "this text has no quotes and is read as {count} strings",
        len(values),
    ).format(count=len(values))
    if cut:
        reason = gettext("{reason}. The text ends at the “;”.").format(reason=reason)
    text = full_text.rstrip()
    behind = "" if cut else line[last.end - 1 :]
    fix = f'{line[: first.column - 1]}"{text}"{behind}' if '"' not in text else ""
    return Unreadable(reason, "txt-unquoted", first.column, first.line, fix=fix)
