"""Checks of Redis's version, settings and queues. Whether it answers and accepts writes is an alert."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from dnspanel.fleet.processes.process_roles import BUSY_FOR
from dnspanel.monitoring.doctor.facts import Facts
from dnspanel.monitoring.doctor.findings import Finding, finding
from dnspanel.processes.redis_health import quick_connection
from dnspanel.texts import gettext

OLDEST_REDIS = 7
# Beat sends a task each second. A worker that keeps up leaves only a few.
MOST_WAITING = 1_000


def check_redis() -> Iterator[Finding]:
    """Yield problems of Redis's version, eviction policy, snapshots and password.

    Redis needs no append-only file, because the panel can lose all of its data.
    """
    redis = quick_connection(settings.REDIS_URL)
    found = redis.info()
    if int(str(found["redis_version"]).partition(".")[0]) < OLDEST_REDIS:
        message = gettext("Redis {version} is too old. The panel is tested with {oldest} and later.")
        yield finding("redis.version", message.format(version=found["redis_version"], oldest=OLDEST_REDIS))
    if (policy := found["maxmemory_policy"]) != "noeviction":
        message = gettext("Redis’s maxmemory-policy is “{policy}”, so a full Redis drops tasks.")
        yield finding("redis.policy", message.format(policy=policy))
    if "err" in {found.get("rdb_last_bgsave_status"), found.get("aof_last_write_status")}:
        message = gettext("Redis couldn’t save its data the last time, and will refuse writes if this continues.")
        yield finding("redis.save", message, causes=["panel.redis"])


def check_redis_password() -> Iterator[Finding]:
    """Yield a finding if every machine that reaches Redis can read and change all tasks."""
    if urlsplit(settings.REDIS_URL).password:
        return  # Redis refuses a password if it has none
    found = quick_connection(settings.REDIS_URL).config_get("bind", "protected-mode")
    is_local = found["bind"] and all(_is_loopback(each.lstrip("-")) for each in found["bind"].split())
    if found["protected-mode"] == "no" and not is_local:
        yield finding("redis.password", gettext("Redis accepts commands without a password from other machines."))


def check_queues(facts: Facts) -> Iterator[Finding]:
    redis = quick_connection(settings.REDIS_URL)
    for queue in BUSY_FOR:
        if (count := redis.llen(queue)) > MOST_WAITING:
            message = gettext("{count:,} tasks wait in the queue “{queue}”.").format(count=count, queue=queue)
            causes = ["panel.redis", "panel.not_running", f"panel.process:{queue}", f"panel.stuck:{queue}"]
            yield finding("panel.queue", message, queue, causes=causes)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
