"""The processes of a panel, and how long each can be silent or busy without an alert. Pure."""

from collections.abc import Mapping
from datetime import timedelta

# A process says that it is at work every BEAT_EVERY. After SILENT_AFTER it is named; `dnspanel.watchdog` restarts it
# later.
BEAT_EVERY = timedelta(seconds=10)
SILENT_AFTER = timedelta(seconds=30)
# A worker with a free place answers the roll call of its queue within this time.
ANSWER_WITHIN = timedelta(seconds=45)
# One task may take so long before its page and an alert name it.
LONGEST_TASK = timedelta(hours=1)
# A process that ended without a goodbye is named for so long while others do its work, then forgotten.
REMEMBERED_FOR = timedelta(hours=1)

WEB, PROXY, BEAT, COLLECTOR, UPDATE = "web", "proxy", "beat", "collector", "update"
# Every queue with a worker of its own, and how long all its places may be busy with work that takes its time: segments
# of a large import, snapshots for nodes, zones that are transferred from other people's servers.
BUSY_FOR: Mapping[str, timedelta] = {
    "publish": timedelta(minutes=10),
    "push": timedelta(minutes=1),
    "bootstrap": timedelta(minutes=15),
    "sources": timedelta(minutes=15),
    "bulk": timedelta(minutes=15),
    "system": timedelta(minutes=15),
}
# A panel does not work without these. DNS UPDATE is optional: it is named once it has run, unless it was stopped.
REQUIRED = (WEB, *BUSY_FOR, BEAT, COLLECTOR)
NAMES = (WEB, PROXY, *BUSY_FOR, BEAT, COLLECTOR, UPDATE)
