"""Templates filled with values. The zone file parser reads the result, and faults have their line in the template."""

import pytest

from dnspanel.transfer.zone_templates.template_content import DEFAULT_TTL, MOST_RRSETS, Made, make_records
from dnspanel.transfer.zone_templates.try_text import try_text
from dnspanel.zones.settings.template_text import Variable, VariableKind
from tests.dnspanel.zones.conftest import ZONE, rr

IP = Variable("ip", "Address", VariableKind.IPV4)
HOST = Variable("host", "Host", VariableKind.HOSTNAME)
TEXT = Variable("text", "Text", VariableKind.TEXT)


def make(lines: str, /, *variables: Variable, name: str = ZONE, **values: str) -> Made:
    return make_records(lines, variables, values, zone=ZONE, name=name)


def places(made: Made) -> list[tuple[int, int, str]]:
    assert made.rrsets == ()
    return [(fault.line, fault.column, fault.variable) for fault in made.faults]


def test_records_are_made_of_lines_and_values() -> None:
    text = """@ A {{ ip }}
$TTL 60
{{ host }} A {{ ip }}
\tAAAA 2001:db8::1 ; both
_dmarc TXT "rua=mailto:d@{{ zone }}"
"""
    made = make(text, IP, HOST, ip="192.0.2.1", host="www")
    assert made.faults == ()
    assert set(made.rrsets) == {
        rr(f"@ {DEFAULT_TTL} A 192.0.2.1"),
        rr("www 60 A 192.0.2.1"),
        rr("www 60 AAAA 2001:db8::1", comment="both"),
        rr('_dmarc 60 TXT "rua=mailto:d@example.test"'),
    }


def test_a_snippet_is_relative_to_its_name() -> None:
    made = make("@ MX 10 {{ host }}\n_x TXT {{ name }}", HOST, name="sub.example.test.", host="mail")
    assert set(made.rrsets) == {
        rr("sub 3600 MX 10 mail.sub"),
        rr('_x.sub 3600 TXT "sub.example.test"'),
    }


@pytest.mark.parametrize(
    "hostile",
    ['x" "y', "x\\", "x ; y", "( x", "$TTL 5", "@", "{{ text }}", "a b", "ü"],
)
def test_a_text_is_one_string_whatever_is_in_it(hostile: str) -> None:
    for line in ('@ TXT "{{ text }}"', "@ TXT {{ text }}"):
        [found] = make(line, TEXT, text=hostile).rrsets
        assert len(found.rdata) == 1
        assert found == make('@ TXT "{{ text }}"', TEXT, text=hostile).rrsets[0]


def test_a_name_out_of_a_text_begins_no_directive_and_no_other_record() -> None:
    made = make("{{ text }} A 192.0.2.1", TEXT, text="$INCLUDE x")
    assert [rrset.name for rrset in made.rrsets] == [r"\$include\032x.example.test."]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("@ A {{ ip }}\nwww A nonsense", (2, 7, "")),
        ("www A {{ ip }}x", (1, 7, "ip")),
        ("other.test. A {{ ip }}", (1, 1, "")),
        ("@ SOA a. b. 1 2 3 4 5", (1, 1, "")),
        ("  $INCLUDE /etc/passwd", (1, 3, "")),
        ("$generate 1-1000000 a$ A {{ ip }}", (1, 1, "")),
        ("www CNAME a\nwww A {{ ip }}", (1, 1, "")),
        ("@ RRSIG A 13 2 300 20261224000000 20261101000000 1 example.test. AA==", (1, 1, "")),
        ("@ LUA A \"return '192.0.2.1'\"", (1, 1, "")),
        ("@ A (\n{{ ip }}", (1, 5, "")),
    ],
)
def test_faults_are_at_their_places_in_the_template(text: str, place: tuple[int, int, str]) -> None:
    assert place in places(make(text, IP, ip="192.0.2.1"))


def test_a_wrong_value_is_told_at_its_variable() -> None:
    assert places(make("@ A {{ ip }}", IP, ip="x")) == [(0, 0, "ip")]


def test_what_the_rest_of_the_zone_may_have_is_no_fault() -> None:
    assert make("@ MX 10 mail\n@ NS ns1").faults == ()


def test_a_template_makes_a_bounded_number_of_rrsets() -> None:
    lines = [f"h{number} A 192.0.2.1" for number in range(MOST_RRSETS + 1)]
    assert make("\n".join(lines[:-1])).faults == ()
    assert "at most" in str(make("\n".join(lines)).faults[0])


def test_trying_a_text_finds_variables_without_a_kind_and_those_that_nobody_uses() -> None:
    assert places(try_text("@ A {{ ip }}", [])) == [(0, 0, "ip")]
    assert places(try_text("@ A 192.0.2.1", [IP])) == [(0, 0, "ip")]
    assert places(try_text("@ A {{ ip", [IP])) == [(1, 5, "")]
    assert [rrset.rdata for rrset in try_text("@ A {{ ip }}", [IP]).rrsets] == [("192.0.2.1",)]
    alias = [HOST, Variable("target_host", "Target", VariableKind.HOSTNAME)]
    made = try_text("{{ host }} CNAME {{ target_host }}", alias).rrsets
    assert [(rrset.name, rrset.rdata) for rrset in made] == [("host.example.com.", ("target-host.example.com.",))]
