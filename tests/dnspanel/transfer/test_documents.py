"""Import options in storage, and faulty zones, which are not imported."""

import pytest

from dnspanel.transfer.documents import Options, ParsedZone, SourceFault
from dnspanel.zones.rules.violations import Severity


def fault(severity: Severity) -> SourceFault:
    return SourceFault("a.zone", 3, 1, "www A x", "wrong", "bad-rdata", severity=severity)


def test_options_come_back_from_what_is_stored_of_them() -> None:
    options = Options(existing="replace", ttl_least=60, comments=False, soa="ours")
    assert Options.from_json(options.to_json()) == options


def test_options_of_an_older_version_are_read_as_far_as_they_are_known() -> None:
    assert Options.from_json({"new": "skip", "colour": "blue"}) == Options(new="skip")


@pytest.mark.parametrize(
    ("name", "severity", "sound"),
    [
        ("a.test.", Severity.WARNING, True),
        ("a.test.", Severity.NOTE, True),
        ("a.test.", Severity.ERROR, False),
        ("", Severity.NOTE, False),
    ],
)
def test_a_zone_is_imported_if_it_has_a_name_and_no_error(name: str, severity: Severity, sound: bool) -> None:
    assert ParsedZone(name, faults=[fault(severity)]).is_sound is sound
