"""Tests of alert conditions for missing backups."""

from tests.dnspanel.condition_inputs import ago, found, inputs, only


def test_a_panel_with_something_to_lose_needs_a_fresh_backup() -> None:
    assert found(inputs(set_up_at=ago(hours=25))) == []
    assert "doesn’t have a backup" in only(inputs(set_up_at=ago(hours=27))).message
    assert found(inputs(set_up_at=ago(days=90), backup_at=ago(hours=25))) == []
    assert "27 h old" in only(inputs(set_up_at=ago(days=90), backup_at=ago(hours=27))).message
