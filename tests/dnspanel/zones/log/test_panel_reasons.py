"""The panel's reasons are displayed in the reader's language, and people's reasons unchanged."""

import pytest

from dnspanel.texts import speaking
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.panel_reasons import told_reason

WRITTEN = {
    name: message.format(
        **dict.fromkeys(
            ("address", "catalog", "day", "name", "number", "reason", "sequence", "server", "title", "undone"), "x 1: y"
        ),
        username="bob",
        version=3,
    )
    for name, message in vars(panel_reasons).items()
    if name.isupper() and not name.startswith("_")
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_panel_wrote_is_told_in_another_language_with_its_values(name: str) -> None:
    with speaking("en"):
        assert told_reason(WRITTEN[name]) == WRITTEN[name]
    with speaking("de"):
        german = told_reason(WRITTEN[name])
    assert german != WRITTEN[name]
    assert ("x 1: y" in german) == ("x 1: y" in WRITTEN[name])


@pytest.mark.parametrize(
    ("reason", "german"),
    [
        ("Rollover for a.test.: DS update.", "Rollover von a.test.: DS-Aktualisierung."),
        ("run 5 undone by run 7", "Lauf 5, rückgängig gemacht durch Lauf 7"),
        ("run 5", "Lauf 5"),
        ("undo import 12: spring", "Import 12 rückgängig gemacht: spring"),
    ],
)
def test_values_stand_where_they_belong(reason: str, german: str) -> None:
    with speaking("de"):
        assert told_reason(reason) == german


@pytest.mark.parametrize(
    "reason",
    ["", "new disks", "Rollover for a.test.: DS update. Really.", "we were transferred from x", "import 5", "run "],
)
def test_what_a_person_wrote_stays(reason: str) -> None:
    with speaking("de"):
        assert told_reason(reason) == reason
