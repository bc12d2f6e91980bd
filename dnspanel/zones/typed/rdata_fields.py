"""Convert between rdata and the fields of a type's form: `parse_fields` and `format_fields`. Pure.

The input of `parse_fields` is canonical rdata. `format_fields` checks its output with `replication.dns.rdata`, but the
caller must still parse it.
"""

import re
from collections.abc import Mapping

from dnspanel.texts import gettext
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import Field, Kind, Layout, missing, quote_text, text_of, word_of
from replication.dns import rdata
from replication.errors import BadRdata, ReplicationError

Values = Mapping[str, str]
OF_ALL = ""  # the key of a fault that isn't in a single field
YES = "yes"  # the value of a flag that is set

# A word of canonical text. Parameters have quotes in the middle: `alpn="h2,h3"`.
_WORD = re.compile(r'(?:[^\s"\\]|\\.|"(?:[^"\\]|\\.)*")+', re.DOTALL)


def parse_fields(layout: Layout, canonical: str) -> dict[str, str]:
    """Split canonical rdata of the layout's type into field values. Missing fields get their defaults."""
    if layout.fields[0].kind is Kind.STRINGS:
        return {layout.fields[0].name: text_of(layout.fields[0], canonical)}
    texts = _WORD.findall(canonical)
    found = {}
    at = 0
    for field in layout.fields:
        size = layout.groups.get(field.name, 1)
        found[field.name] = text_of(field, " ".join(texts[at : at + size])) if at < len(texts) else field.default
        at += size
    if layout.parameters:
        return found | _parameters(layout, texts[at:])
    if at < len(texts):  # Base64 in several words
        found[layout.fields[-1].name] += "".join(texts[at:])
    return found


def format_fields(layout: Layout, values: Values, origin: str | None = None) -> str:
    """Join the field values to rdata for `rdata.parse`. Names stay as typed, but email addresses become names.

    Raise BadFields with a message for each invalid field.
    """
    texts: dict[str, str] = {}
    faults: dict[str, str] = {}
    for field in layout.all_fields:
        try:
            texts[field.name] = word_of(field, values.get(field.name, ""), origin)
        except ValueError as exc:
            faults[field.name] = str(exc)
    if not faults:
        faults = _faults_of_digest(layout, texts)
    if faults:
        raise BadFields(faults)
    text = _join_fields(layout, texts)
    try:
        rdata.parse(layout.type, text, origin)
    except ReplicationError as exc:
        raise BadFields({OF_ALL: _as_message(exc.detail if isinstance(exc, BadRdata) else str(exc))}) from exc
    return text


def joined_as_typed(layout: Layout, values: Values) -> str:
    """Join the typed values, including invalid ones, to rdata on one line."""
    texts = {}
    for field in layout.all_fields:
        typed = " ".join(values.get(field.name, "").splitlines()).strip()  # two spaces in a string are kept
        try:
            texts[field.name] = word_of(field, typed)
        except ValueError:
            is_string = field.kind in (Kind.STRING, Kind.STRINGS) and typed and not typed.startswith(('"', "("))
            texts[field.name] = quote_text(typed) if is_string else typed
    return _join_fields(layout, texts)


def blank_fields(layout: Layout) -> dict[str, str]:
    """Return the default field values for a new record."""
    return {field.name: field.default for field in layout.all_fields}


def is_untouched(layout: Layout, values: Values) -> bool:
    """Return True if all fields are empty or have the default value for a new record."""
    return all(values.get(name, "").strip() in ("", default) for name, default in blank_fields(layout).items())


def without_missing(layout: Layout, faults: Mapping[str, str]) -> dict[str, str]:
    """Return the errors, except those about missing values."""
    unsaid = {field.name: missing(field) for field in layout.all_fields}
    return {name: fault for name, fault in faults.items() if unsaid.get(name) != fault}


def _join_fields(layout: Layout, texts: Values) -> str:
    parts = [texts.get(field.name, "") for field in layout.fields]
    parts += [_parameter(field, texts.get(field.name, "")) for field in layout.parameters]
    return " ".join(part for part in parts if part)


def _parameter(field: Field, word: str) -> str:
    if field.kind is Kind.REST or not word:
        return word
    return field.name if field.kind is Kind.FLAG else f"{field.name}={word}"


def _parameters(layout: Layout, texts: list[str]) -> dict[str, str]:
    known = {field.name: field for field in layout.parameters}
    found = dict.fromkeys(known, "")
    others = []
    for word in texts:
        key, _, value = word.partition("=")
        field = known.get(key)
        if field is not None and field.kind is Kind.FLAG:
            found[key] = YES
        elif field is None or value in ("", '""'):
            others.append(word)
        else:
            found[key] = text_of(field, value)
    [rest] = [field.name for field in layout.parameters if field.kind is Kind.REST]
    return found | {rest: " ".join(others)}


def _faults_of_digest(layout: Layout, texts: Values) -> dict[str, str]:
    digest = layout.digest
    expected = digest.lengths.get(texts[digest.by]) if digest else None
    if digest is None or expected is None:
        return {}
    size, title = expected
    digits = len(texts[digest.data])
    if digits == 2 * size:
        return {}
    return {
        digest.data: gettext("{title} must have {value} hexadecimal digits, not {digits}.").format(
            title=title, value=2 * size, digits=digits
        )
    }


def _as_message(reason: str) -> str:
    return reason[:1].upper() + reason[1:] + "."
