import pytest

from dnspanel.web.frame.outcomes import RefusalBlock


def test_a_block_reports_refusals_of_its_kinds_and_raises_others() -> None:
    found: list[Exception] = []
    refusal = LookupError("no")
    with RefusalBlock(found.append, (LookupError,)):
        raise refusal
    with pytest.raises(ValueError, match="other"), RefusalBlock(found.append, (LookupError,)):
        raise ValueError("other")
    assert found == [refusal]
