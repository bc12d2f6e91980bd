"""Lines between records that exporters write and name servers ignore."""

import pytest

from dnspanel.zones.rules.violations import Severity
from tests.dnspanel.transfer.zonefile.test_parse import at, body, codes, only_fault


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        (
            "lb 300 AWS ALIAS A lb-1.elb.provider.test. ZABCDEFABCDE false",
            "lb 300 IN ALIAS lb-1.elb.provider.test.",
        ),
        ("lb AWS ALIAS A www $self false", "lb IN ALIAS www"),
        ("web 60 AZURE ALIAS A /subscriptions/0000/resourceGroups/x/providers/Microsoft.Network/t", ""),
        ("web 60 AZURE ALIAS", ""),
        ("shop 300 IN URL301 https://other.test/shop", ""),
        ("shop 0 IN FRAME https://other.test/", ""),
        ("wins WINS L2 C900 192.0.2.1", ""),
    ],
)
def test_what_only_a_provider_knows_is_left_out_with_advice_and_the_rest_is_read(line: str, fix: str) -> None:
    zone = body(f"a A 192.0.2.1\n{line}\n  60 TXT x\nwww A 192.0.2.1\n")
    fault = only_fault(zone)
    assert (fault.code, fault.line, fault.severity, fault.fix) == ("line-left-out", 6, Severity.WARNING, fix)
    assert at(zone, line.split()[0], "TXT"), "the owner of the line is that of the next one, too"
    assert at(zone, "www", "A")
    if fix:
        assert codes(body(f"www A 192.0.2.1\n{fix}\n")) == []


@pytest.mark.parametrize(
    "line",
    [
        "transfer.example.net.\t0\tANY\tTSIG\thmac-sha256. 1541638220 300 32 q83vEjRW 4270 NOERROR 0",
        "transfer.example.net. 0 CLASS255 TSIG hmac-sha256. 1541638220 300 0 4270 NOERROR 0",
        ". 0 ANY SIG 0 8 0 0 20260101000000 20260101000000 1 key.test. AAAA",
    ],
)
def test_what_belongs_to_the_message_of_a_transfer_is_left_out_with_a_note(line: str) -> None:
    """`dig -y KEY axfr` prints such a TSIG record, and some registries distribute its output."""
    zone = body(f"www A 192.0.2.1\n{line}\n")
    fault = only_fault(zone)
    assert (fault.code, fault.line, fault.severity) == ("line-left-out", 6, Severity.NOTE)
    assert len(zone.rrsets) == 3
