"""Proposed fixes for zone files. Tests of fixes for single lines are in test_zonefile.py."""

from dnspanel.transfer.zonefile.fixes import bad_rdata, check_characters, replace_token, target_fix, unquoted_text
from dnspanel.transfer.zonefile.zonefile_tokens import Token, read_entry
from replication.dns import rdata
from replication.errors import BadRdata


def tokens(line: str) -> list[Token]:
    return read_entry([line]).tokens


def test_a_word_is_replaced_and_the_rest_stays() -> None:
    line = 'a  "b c"\td'
    assert replace_token(line, tokens(line)[1], "x") == "a  x\td"
    assert replace_token(None, tokens(line)[1], "x") == ""


def test_the_column_is_that_of_the_word_at_fault() -> None:
    line = "a SOA x. y. 4294967296 1 2 3 4"
    try:
        rdata.parse(6, "x. y. 4294967296 1 2 3 4", "test.")
    except BadRdata as error:
        fault = bad_rdata(6, tokens(line), 2, "test.", line, error)
    assert (fault.column, fault.fix) == (line.index("4294967296") + 1, "")


def test_nothing_is_proposed_that_cannot_be_read_either() -> None:
    for line, type_ in (("a A x,y z", 1), ("a MX 10,20 x", 15), ("a CNAME b c", 5), ("a A 1.2.3", 1)):
        line_tokens = tokens(line)
        fault = bad_rdata(type_, line_tokens, 2, "test.", line, ValueError("no"))
        assert fault.fix == "", line


def test_targets_get_the_final_dot_that_they_lack() -> None:
    for line, fix in (
        ("a CNAME b.test", "a CNAME b.test."),
        ("a CNAME b", ""),
        ("a CNAME 192.0.2.1", ""),
        ("a CNAME b.test.", ""),
        ("a CNAME http://b.test:80/x", "a CNAME b.test."),
    ):
        assert target_fix(line, tokens(line)[2]) == fix


def test_text_in_quotes_or_of_one_word_needs_no_advice() -> None:
    for line in ('a TXT "b c"', "a TXT b", 'a TXT "b" c', "a TXT b ; c"):
        assert unquoted_text(tokens(line), 2, line) is None
    line = "a TXT b; c ; d"
    advice = unquoted_text(tokens(line), 2, line)
    assert advice is not None
    assert advice.fix == 'a TXT "b; c ; d"'
    line = "a TXT b c ; d"
    advice = unquoted_text(tokens(line), 2, line)
    assert advice is not None
    assert advice.fix == 'a TXT "b c" ; d'


def test_characters_of_other_scripts_are_no_fault() -> None:
    line = 'bücher TXT "“quoted”" 日本'
    check_characters(tokens(line), line)
