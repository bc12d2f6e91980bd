"""Tests of alert conditions about Redis."""

from dnspanel.processes.redis_health import RedisProblem
from tests.dnspanel.condition_inputs import inputs, only


def test_what_is_wrong_with_redis_is_told_by_its_kind() -> None:
    for problem, words in (("away", "isn’t responding"), ("full", "is full"), ("refuses", "is rejecting writes")):
        condition = only(inputs(redis_problem=RedisProblem(problem)))
        assert (condition.kind, str(condition.severity)) == ("panel.redis", "critical")
        assert f"Redis {words}, so nodes get updates by polling" in condition.message
