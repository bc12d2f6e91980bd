"""Tests of alert conditions for consumed catalogs."""

from dnspanel.catalogs.queries import CatalogTrouble
from tests.dnspanel.condition_inputs import ago, inputs, only


def test_catalogs_of_others_about_which_there_is_something_to_tell_are_one_alert() -> None:
    first = CatalogTrouble("catalog.test.", ago(hours=3), "The catalog is broken: it states no version.")
    condition = only(inputs(catalogs=(first, CatalogTrouble("b.test.", ago(hours=1), "x"))))
    assert (condition.key, condition.kind, condition.severity) == ("panel.catalogs", "panel.catalogs", "warning")
    assert condition.message == (
        "The catalog catalog.test. has had a problem for 3 h. "
        "The catalog is broken: it states no version. 1 other catalog has a problem."
    )
