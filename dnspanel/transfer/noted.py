"""Write and read RRsets' tags and value comments as zone-file comments, which other programs ignore. Pure.

    ;!noted www A {"tags": ["shop"], "value_comments": {"192.0.2.1": "first rack"}}

Owner and type identify the RRset, whose lines can be anywhere in the file. If an RRset has several such lines, they are
combined. An export writes the line after the RRset.
"""

import json

from dnspanel.texts import gettext
from dnspanel.zones.values.rrset_notes import notes_in
from replication.dns import names, rdata
from replication.dns.rrset import Notes, format_notes, notes_without_spellings
from replication.errors import ReplicationError

NOTED = ";!noted "


def noted_line(owner: str, type: str, notes: str) -> str:
    """Return the comment line for an RRset whose notes are in the database's form, or "" if it has no notes."""
    noted = notes_without_spellings(notes)
    return f"{NOTED}{owner} {type} {noted}\n" if noted else ""


def noted_line_of(owner: str, type: str, notes: Notes) -> str:
    """Return the comment line for an RRset with these notes, or "" if they are empty."""
    return noted_line(owner, type, format_notes(notes)) if notes else ""


def read_noted(line: str, origin: str) -> tuple[str, int, Notes]:
    """Parse a line that begins with NOTED into (owner, type, notes). Raise ValueError if the line is invalid."""
    parts = line.removeprefix(NOTED).split(None, 2)
    if len(parts) < 3:
        raise ValueError(gettext("a name, a type and an object with “tags” or “value_comments” are needed"))
    owner, mnemonic, text = parts
    try:
        name, type_ = names.parse(owner, origin), rdata.type_from_text(mnemonic)
        return name, type_, notes_in(json.loads(text), type_, origin)
    except (json.JSONDecodeError, RecursionError) as exc:
        raise ValueError(gettext("the text after the type isn’t valid JSON")) from exc
    except ReplicationError as exc:
        raise ValueError(str(exc)) from exc
