"""Template texts: variables, their values, and the positions of faults."""

import pytest

from dnspanel.zones.settings.template_text import (
    BUILT_IN,
    LONGEST_EXPANDED,
    LONGEST_TEXT,
    LONGEST_VALUE,
    MOST_VARIABLES,
    BadText,
    Variable,
    VariableKind,
    expand,
    expanded_values,
    variables_of,
    word_of,
)

IP = Variable("ip", "Address", VariableKind.IPV4)


def word(kind: VariableKind, value: str) -> str:
    return word_of(Variable("x", "It", kind), value)


def faults_of(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(BadText) as caught:
        expand(text, {"ip": "192.0.2.1"})
    return [(fault.line, fault.column, fault.variable) for fault in caught.value.faults]


def test_variables_are_found_in_their_order_and_once() -> None:
    text = "{{ b }} A {{a}}\n@ TXT {{\tb }} {{ zone }}{{ zone_dashed }}{{ name }}"
    assert variables_of(text) == ["b", "a"]


def test_what_is_no_variable_is_a_fault_at_its_place() -> None:
    assert faults_of("ok\nwww A {{ ip") == [(2, 7, "")]
    assert faults_of("www A {{ Ip }}{{}} {{ a b }}") == [(1, 7, ""), (1, 15, ""), (1, 20, "")]
    assert faults_of("www A {{ other }}") == [(1, 7, "other")]


def test_a_word_of_a_zone_file_comes_in_place_of_each_variable() -> None:
    words = expanded_values([IP], {"ip": " 192.0.2.7 "}, zone="example.com.", name="www.example.com.")
    made = expand("@ A {{ip}}\n@ TXT {{ zone }}/{{ zone_dashed }}/{{ name }}", words)
    assert made.text == "@ A 192.0.2.7\n@ TXT example.com/example-com/www.example.com"


def test_columns_lead_back_to_the_template() -> None:
    made = expand("{{ ip }} x {{ ip }} y", {"ip": "192.0.2.123"})
    assert made.text == "192.0.2.123 x 192.0.2.123 y"
    assert made.place(1, 3) == (1, "ip")
    assert made.place(1, 13) == (10, "")
    assert made.place(1, 15) == (12, "ip")
    assert made.place(1, 27) == (21, "")
    assert made.place(2, 5) == (5, "")


@pytest.mark.parametrize(
    ("kind", "typed", "expected"),
    [
        (VariableKind.HOSTNAME, "WWW.Bücher.example.", "www.xn--bcher-kva.example."),
        (VariableKind.HOSTNAME, "mail", "mail"),
        (VariableKind.HOSTNAME, "@", "@"),
        (VariableKind.IPV4, "192.0.2.1", "192.0.2.1"),
        (VariableKind.IPV6, "2001:DB8:0:0::1", "2001:db8::1"),
        (VariableKind.NUMBER, "007", "7"),
        (VariableKind.TEXT, "v=x1;k", r"v=x1\059k"),
        (VariableKind.TEXT, 'a"b ü\\', r"a\034b\032\195\188\092"),
        (VariableKind.TEXT, "{{ ip }}", r"\123\123\032ip\032\125\125"),
    ],
)
def test_a_value_becomes_one_word(kind: VariableKind, typed: str, expected: str) -> None:
    assert word(kind, typed) == expected


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        (VariableKind.HOSTNAME, "a..b"),
        (VariableKind.HOSTNAME, "a b"),
        (VariableKind.IPV4, "192.0.2.256"),
        (VariableKind.IPV4, "2001:db8::1"),
        (VariableKind.IPV6, "fe80::1%eth0"),
        (VariableKind.NUMBER, "-1"),
        (VariableKind.NUMBER, "4294967296"),
        (VariableKind.NUMBER, "٣"),
        (VariableKind.TEXT, "a\nb"),
        (VariableKind.TEXT, "x" * (LONGEST_VALUE + 1)),
        (VariableKind.TEXT, ""),
    ],
)
def test_a_wrong_value_is_refused(kind: VariableKind, typed: str) -> None:
    with pytest.raises(ValueError, match=r"\."):
        word(kind, typed)


def test_the_default_stands_for_an_empty_value_and_faults_are_told_together() -> None:
    with_default = Variable("n", "Count", VariableKind.NUMBER, "10")
    assert expanded_values([with_default], {}, zone="a.test.", name="a.test.")["n"] == "10"
    with pytest.raises(BadText) as caught:
        expanded_values([IP, with_default], {"n": "x"}, zone="a.test.", name="a.test.")
    assert [fault.variable for fault in caught.value.faults] == ["ip", "n"]


def test_everything_is_bounded() -> None:
    with pytest.raises(BadText, match="at most"):
        variables_of("x" * (LONGEST_TEXT + 1))
    with pytest.raises(BadText, match="at most"):
        variables_of("".join(f"{{{{ v{number} }}}}" for number in range(MOST_VARIABLES + 1)))
    with pytest.raises(BadText, match=f"{LONGEST_EXPANDED:,}"):
        expand("{{ ip }}" * 8_000, {"ip": "x" * 100})


def test_variables_are_stored_as_they_are_and_none_of_ours_is_declared() -> None:
    assert Variable.from_json(IP.to_json()) == IP
    assert not set(variables_of(" ".join(f"{{{{ {name} }}}}" for name in BUILT_IN)))
