"""The processes of a panel, and how long each one can be silent or busy without an alert. Pure."""

from collections.abc import Mapping
from datetime import timedelta

# A process reports that it is working every BEAT_EVERY. It is named after SILENT_AFTER, and later restarted by
# `dnspanel.watchdog`.
BEAT_EVERY = timedelta(seconds=10)
SILENT_AFTER = timedelta(seconds=30)
# A worker with a free slot answers the roll call of its queue within this time.
ANSWER_WITHIN = timedelta(seconds=45)
# If a task runs longer than this, its page and an alert name it.
LONGEST_TASK = timedelta(hours=1)
# A process that ended without reporting it is named for this long while others do its work, then forgotten.
REMEMBERED_FOR = timedelta(hours=1)

WEB, PROXY, BEAT, COLLECTOR, UPDATE = "web", "proxy", "beat", "collector", "update"
# Every queue with its own worker, and how long all slots can be busy with work that legitimately takes long: segments
# of a large import, snapshots for nodes, zones that are transferred from foreign servers.
BUSY_FOR: Mapping[str, timedelta] = {
    "publish": timedelta(minutes=10),
    "push": timedelta(minutes=1),
    "bootstrap": timedelta(minutes=15),
    "sources": timedelta(minutes=15),
    "bulk": timedelta(minutes=15),
    "system": timedelta(minutes=15),
}
# A panel does not work without these. DNS UPDATE is optional. It is named once it has run, unless it was stopped.
REQUIRED = (WEB, *BUSY_FOR, BEAT, COLLECTOR)
NAMES = (WEB, PROXY, *BUSY_FOR, BEAT, COLLECTOR, UPDATE)
