"""Tests of the check of a template's text: kinds inferred from records, and errors without sample values."""

import pytest

from dnspanel.transfer.zone_templates.try_text import infer_kinds, try_text
from dnspanel.zones.settings.template_text import LONGEST_TEXT, MOST_VARIABLES, BadText, Variable, VariableKind


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("web A {{ x }}", "ipv4"),
        ("web 300 IN AAAA {{ x }}", "ipv6"),
        ("\tA {{ x }}", "ipv4"),
        ("{{ x }} A 192.0.2.1", "hostname"),
        ("{{ x }}.eu A 192.0.2.1", "hostname"),
        ("web {{ x }} A 192.0.2.1", "number"),
        ("web CNAME {{ x }}", "hostname"),
        ("@ MX {{ x }} {{ y }}", "number hostname"),
        ("_sip._tcp SRV {{ x }} 5 {{ y }} {{ z }}", "number number hostname"),
        ('@ TXT "v=spf1 ip4:{{ x }} -all"', "text"),
        ("web A {{ x }} ; {{ y }}", "ipv4 text"),
        ("web MX ( 10\n {{ x }} )", "text"),
    ],
)
def test_the_kind_comes_from_the_record(line: str, kinds: str) -> None:
    assert " ".join(infer_kinds(f"@ NS ns1.example.net.\n{line}\n", {}).values()) == kinds


def test_a_declared_kind_stays_and_helps_the_variables_after_it() -> None:
    preference = Variable("x", "x", VariableKind.NUMBER)
    assert infer_kinds("@ MX {{ x }} {{ y }}", {"x": preference}) == {
        "x": VariableKind.NUMBER,
        "y": VariableKind.HOSTNAME,
    }
    with pytest.raises(BadText):
        infer_kinds("web A {{ X }}", {})


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("web A {{ ip }}", VariableKind.TEXT, "The variable ip must have the kind “IPv4 address” here."),
        ("web AAAA {{ ip }}", VariableKind.IPV4, "The variable ip must have the kind “IPv6 address” here."),
        (
            'web CAA 0 issue "{{ ip }}"x',
            VariableKind.TEXT,
            "The record isn’t valid with any value for the variable ip.",
        ),
        ("web A 192.0.2.{{ ip }}", VariableKind.TEXT, "The variable ip must have the kind “number” here."),
        ("web A 300.0.2.{{ ip }}", VariableKind.TEXT, "The record isn’t valid with any value for the variable ip."),
    ],
)
def test_errors_name_the_right_kind_and_never_the_sample(line: str, kind: VariableKind, message: str) -> None:
    faults = try_text(line, [Variable("ip", "ip", kind)]).faults
    assert [fault.message for fault in faults] == [message]


def test_a_default_is_named_because_the_author_typed_it() -> None:
    faults = try_text("web A {{ ip }}", [Variable("ip", "ip", VariableKind.TEXT, "one")]).faults
    assert ["one" in fault.message for fault in faults] == [True]


def test_the_longest_text_is_read_a_bounded_number_of_times() -> None:
    """Each variable of a long line would read it five times."""
    line = "web TXT " + " ".join(f"{{{{ v{number} }}}}" for number in range(MOST_VARIABLES))
    text = line + " x" * ((LONGEST_TEXT - len(line)) // 2)
    assert set(infer_kinds(text, {}).values()) == {VariableKind.TEXT}
