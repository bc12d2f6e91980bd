"""Compute this machine's id. The panel uses it to notice when the same identity appears on another machine.

An identity is a few files, and files can be copied: with a disk image, a container's volume or a restored backup. The
id is therefore a hash of three values that are rarely all copied together:

    /etc/machine-id     of the operating system; new on every installation, often copied with an image
    product_uuid        of the (virtual) hardware; most hypervisors give a clone a new one; only root can read it
    state_dir/machine   a random id, and the inode of the file that contains it: in a copy of the file, the inode
                        differs, and the agent writes a new random id

A block-level clone has all three values if its hypervisor keeps product_uuid. The panel then uses the start times. If
the machine with the earlier start answers after the machine with the later start has answered, there are two machines.
A restart never causes that.
"""

import hashlib
import os
import secrets
from pathlib import Path

ID_FILE = "machine"
_MACHINE_ID = Path("/etc/machine-id")
_PRODUCT_UUID = Path("/sys/class/dmi/id/product_uuid")


def machine_id(state_dir: Path, *, machine: Path = _MACHINE_ID, product: Path = _PRODUCT_UUID) -> str:
    """Return the hex SHA-256 that identifies this machine and the agent's directory on it."""
    parts = (_text(machine), _text(product), _own_id(state_dir))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _own_id(state_dir: Path) -> str:
    """Return the random id stored in the directory. Write a new one if the file is missing or a copy."""
    path = state_dir / ID_FILE
    own, _, inode = _text(path).partition(" ")
    if own and inode == str(path.stat().st_ino):
        return own
    own = secrets.token_hex(16)
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)  # an overwritten file would keep its inode
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{own} {os.fstat(file.fileno()).st_ino}\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return own


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
