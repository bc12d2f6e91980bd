"""Tags of RRsets and comments of values: kept with the RRset, and dropped with their values."""

import json

from replication.dns import rdtypes
from replication.dns.rrset import NO_NOTES, Notes, RRset, format_notes, make, notes_without_spellings, parse_notes

BOTH = Notes(("shop", "web"), (("192.0.2.1", "first rack"), ("192.0.2.2", 'say "ü"\n')))


def rrset(*values: str, notes: Notes = BOTH) -> RRset:
    return make("www.example.test.", rdtypes.A, 300, values, notes=notes)


def test_notes_come_back_from_text_and_json_as_they_were() -> None:
    assert parse_notes(format_notes(BOTH)) == BOTH
    assert format_notes(NO_NOTES) == ""
    assert parse_notes("") == NO_NOTES
    stored = rrset("192.0.2.1", "192.0.2.2")
    assert RRset.from_json(stored.name, stored.type, json.loads(json.dumps(stored.to_json()))) == stored
    assert json.loads(f"{{{stored.json_members}}}") == stored.to_json()


def test_an_rrset_without_notes_says_nothing_of_them() -> None:
    assert rrset("192.0.2.1", notes=NO_NOTES).to_json().keys() == {"ttl", "rdata", "disabled", "comment"}


def test_a_comment_goes_with_its_value() -> None:
    assert rrset("192.0.2.1", "192.0.2.3").notes == Notes(("shop", "web"), (("192.0.2.1", "first rack"),))
    assert BOTH.of_values([]) == Notes(("shop", "web"))
    assert (
        BOTH.rename_values(lambda text: text.replace("192.0.2.", "198.51.100.")).comment_of("198.51.100.1")
        == "first rack"
    )


def test_of_two_comments_of_a_value_the_first_one_stays() -> None:
    other = Notes(("mail",), (("192.0.2.1", "second"), ("192.0.2.9", "ninth")))
    joined = BOTH.merge_with(other)
    assert joined.tags == ("mail", "shop", "web")
    assert joined.comment_of("192.0.2.1") == "first rack"
    assert joined.comment_of("192.0.2.9") == "ninth"
    assert BOTH.merge_with(NO_NOTES) == BOTH


def test_spellings_go_where_values_go_and_are_shown_to_nobody_else() -> None:
    spelled = Notes.create(["a"], {"x": "note"}, {"x": "X", "y": "Y"})
    assert Notes.from_json(spelled.to_json()) == parse_notes(format_notes(spelled)) == spelled
    assert spelled.of_values(["y"]) == Notes.create(["a"], {}, {"y": "Y"})
    assert spelled.rename_values(str.upper) == Notes.create(["a"], {"X": "note"})
    assert Notes.create(spellings={"x": "other", "z": "Z"}).merge_with(spelled).spellings == (
        ("x", "other"),
        ("y", "Y"),
        ("z", "Z"),
    )
    assert spelled.without_spellings == Notes.create(["a"], {"x": "note"})
    assert notes_without_spellings(format_notes(spelled)) == format_notes(spelled.without_spellings)
    assert notes_without_spellings(format_notes(Notes.create(spellings={"x": "X"}))) == ""
