"""The form of an editor row: accepted values, and no loss of fields."""

from dataclasses import replace

import pytest

from dnspanel.web.editor.lines.rrset_form import RRsetForm, digest_of
from dnspanel.web.frame.rows import row_id
from replication.dns.rrset import Notes, RRset

ZONE = "example.test."
WWW = RRset("www.example.test.", 1, 300, ("192.0.2.1", "192.0.2.2"), ("192.0.2.2",), "the web")


def form_of(**fields: str) -> RRsetForm:
    data = {"name": "www", "type": "A", "ttl": "300", "values": "192.0.2.1", "comment": ""} | fields
    return RRsetForm(data, zone_name=ZONE, default_ttl=3600)


def test_what_a_row_shows_comes_back_as_it_was() -> None:
    initial = RRsetForm.initial_for(ZONE, WWW, base_revision=4)
    assert initial["values"] == "192.0.2.1\n; 192.0.2.2"
    form = RRsetForm({key: str(value) for key, value in initial.items()}, zone_name=ZONE, default_ttl=3600)
    assert form.is_valid()
    assert form.rrset == WWW
    assert form.replaces == (WWW.name, 1)
    assert form.row_id == row_id(WWW.name, 1)


def test_an_empty_ttl_is_inherited() -> None:
    form = form_of(ttl="")
    assert form.is_valid()
    assert form.rrset == RRset("www.example.test.", 1, 3600, ("192.0.2.1",))


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": ""}, "name", "@ for the zone apex"),
        ({"name": "a..b"}, "name", "empty label"),
        ({"name": "www.other.test."}, "name", "not in the zone"),
        ({"type": "NONSENSE"}, "type", "isn’t a valid record type"),
        ({"type": "RRSIG"}, "type", "signed"),
        ({"type": "NSEC"}, "type", "signed"),
        ({"type": "NSEC3"}, "type", "signed"),
        ({"type": "NSEC3PARAM"}, "type", "a setting of the signed zone"),
        ({"ttl": "soon"}, "ttl", "isn’t a valid TTL"),
        ({"values": ""}, "values", "at least one value"),
        ({"values": "\n ;\n"}, "values", "at least one value"),
        ({"values": "192.0.2.1\n192.0.2.x"}, "values", "Line 2"),
        ({"type": "CNAME", "values": "a\nb"}, "values", "only one CNAME"),
    ],
)
def test_each_fault_stands_at_its_field(fields: dict[str, str], field: str, words: str) -> None:
    form = form_of(**fields)
    assert not form.is_valid()
    assert form.rrset is None
    assert words in form.errors[field][0]
    for name, value in fields.items():
        assert form[name].value() == value


def test_a_doubled_name_is_a_question_with_two_answers() -> None:
    form = form_of(name="www.example.test")
    assert not form.is_valid()
    assert form.question is not None
    assert form.question.absolute == "www.example.test."
    answered = form_of(name="www.example.test", means="absolute")
    assert answered.is_valid()
    assert answered.rrset is not None
    assert answered.rrset.name == "www.example.test."


def test_a_doubled_target_is_a_question_too() -> None:
    form = form_of(type="CNAME", values="cdn.example.test")
    assert not form.is_valid()
    assert form.question is not None
    assert form.question.relative == "cdn.example.test.example.test."


def test_a_value_that_is_both_served_and_off_is_served() -> None:
    form = form_of(values="192.0.2.1\n; 192.0.2.1")
    assert form.is_valid()
    assert form.rrset is not None
    assert form.rrset.disabled == ()


def test_text_of_any_bytes_is_kept_exactly() -> None:
    typed = r'"a\000\255\"\\" "<script>"'
    form = form_of(type="TXT", values=typed)
    assert form.is_valid()
    assert form.rrset is not None
    assert form.rrset.rdata == (typed,)


@pytest.mark.parametrize("old", ["", "a..b", "www.other.test."])
def test_a_row_that_is_none_of_the_zone_is_a_new_one(old: str) -> None:
    assert form_of(old_name=old, old_type="A").row_id == "rr-new"


def test_the_digest_ignores_only_the_serial_of_a_soa() -> None:
    def soa(serial: int) -> RRset:
        return RRset(ZONE, 6, 3600, (f"ns1.test. h.test. {serial} 1 2 3 4",))

    assert digest_of(soa(1)) == digest_of(soa(2))
    assert digest_of(WWW) != digest_of(RRset(WWW.name, 1, 301, WWW.rdata, WWW.disabled, WWW.comment))
    assert digest_of(None) != digest_of(WWW)


def test_comments_of_values_stand_behind_them_and_tags_in_their_field() -> None:
    noted = replace(WWW, notes=Notes(("shop",), (("192.0.2.2", "second; rack"),)))
    initial = RRsetForm.initial_for(ZONE, noted, base_revision=4)
    assert (initial["values"], initial["tags"]) == ("192.0.2.1\n; 192.0.2.2 ; second; rack", "shop")
    form = form_of(values="192.0.2.1 ; first\n;192.0.2.2", tags="b, A")
    assert form.is_valid()
    assert form.rrset is not None
    assert form.rrset.notes == Notes(("a", "b"), (("192.0.2.1", "first"),))
    texts = form_of(type="TXT", values='"a;b" ; why\nk=rsa ; p=x')
    assert texts.is_valid()
    assert texts.rrset is not None
    assert texts.rrset.rdata == ('"a;b"', '"k=rsa ; p=x"')
    assert texts.rrset.notes == Notes((), (('"a;b"', "why"),))
    wrong = form_of(tags="a$b")
    assert not wrong.is_valid()
    assert "valid tag" in wrong.errors["tags"][0]


def test_a_form_without_lines_for_notes_takes_them_along() -> None:
    noted = replace(WWW, notes=Notes(("shop",), (("192.0.2.1", "first"), ("192.0.2.2", "second"))))
    initial = RRsetForm.initial_for(ZONE, noted, base_revision=4, in_lines=False) | {"values": "192.0.2.1\n192.0.2.3"}
    form = RRsetForm({key: str(value) for key, value in initial.items()}, zone_name=ZONE, default_ttl=3600)
    assert form.is_valid()
    assert form.rrset is not None
    assert form.rrset.notes == Notes(("shop",), (("192.0.2.1", "first"),))
    broken = RRsetForm(
        {key: str(value) for key, value in initial.items()} | {"notes": "{["}, zone_name=ZONE, default_ttl=3600
    )
    assert not broken.is_valid()
