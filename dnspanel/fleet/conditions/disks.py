"""Conditions for a full disk on a node or on the panel. Pure."""

from collections.abc import Collection

from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.conditions.condition_inputs import NodeInputs
from dnspanel.texts import gettext

DISK_SHARE, DISK_SHARE_AGAIN = 0.10, 0.12
DISK_SHARE_CRITICAL = 0.03


def disk_share(
    room: tuple[int, int], inodes: tuple[int, int], key: str, is_open: Collection[str], node: NodeInputs | None = None
) -> Condition | None:
    """Return a condition if the share of free bytes or of free inodes is low. The smaller share counts."""
    left = {is_inodes: free / total for is_inodes, (free, total) in ((False, room), (True, inodes)) if total}
    if not left or min(left.values()) >= (DISK_SHARE_AGAIN if key in is_open else DISK_SHARE):
        return None
    share, is_inodes = min((share, is_inodes) for is_inodes, share in left.items())
    if node is None:
        message = (
            gettext("The panel’s disk has only {count:,} free inodes ({share}).")
            if is_inodes
            else gettext("The panel’s disk has only {free} free ({share}).")
        )
    else:
        message = (
            gettext("The disk on {name} has only {count:,} free inodes ({share}).")
            if is_inodes
            else gettext("The disk on {name} has only {free} free ({share}).")
        )
    severity = Severity.CRITICAL if share < DISK_SHARE_CRITICAL else Severity.WARNING
    message = message.format(
        name=node.name if node else "", free=size_text(room[0]), count=inodes[0], share=f"{share:.1%}"
    )
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)


def size_text(size: int) -> str:
    """Return a size with a binary unit for messages, such as 1.5 GiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"
