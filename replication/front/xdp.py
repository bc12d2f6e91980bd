"""Set up AF_XDP on this machine, if possible: dnsdist then gets packets without the kernel's network stack.

`attach` needs root, and runs before each start of dnsdist. It loads a program and maps into the kernel, and pins them
below /sys/fs/bpf/dnsdist, where dnsdist looks for them. dnsdist then puts its sockets into `xskmap`. Without sockets,
all packets go to the kernel as usual, and so to dnsdist's ordinary sockets.
"""

import ctypes
import errno
import os
import platform
import shutil
import socket
import struct
import sys
from pathlib import Path

from replication.errors import NotServed
from replication.front.decisions import XSK_MAP
from replication.front.front_config import FrontConfig
from replication.front.release import AF_XDP, Release
from replication.front.xdp_program import KEY4, KEY6, Maps, encode_keys, encode_program

PINS = Path(XSK_MAP).parent
MOST_QUEUES = 64
_MOST_ADDRESSES = 1024
_INTERFACES = Path("/sys/class/net")
_FAMILY = 44  # AF_XDP
_SYSTEM_CALL = {"x86_64": 321, "aarch64": 280}
# Commands and kinds of bpf(2), from linux/bpf.h.
_MAP_CREATE, _MAP_UPDATE, _PROG_LOAD, _OBJ_PIN, _LINK_CREATE = 0, 2, 5, 6, 28
_HASH, _XSK_MAP, _XDP_PROGRAM, _XDP_LINK = 1, 17, 6, 37
_GENERIC, _NATIVE = 2, 4
_LOG_BYTES = 65536
_libc = ctypes.CDLL(None, use_errno=True)


def queues_for(interface: str, release: Release) -> tuple[int, str]:
    """Return the number of the interface's queues that dnsdist can read through AF_XDP.

    If dnsdist can't use any, return 0 and the reason, which is "" if no interface is configured.
    """
    if not interface:
        return 0, ""
    if AF_XDP not in release.features:
        return 0, "no AF_XDP: this dnsdist was built without it"
    if not _kernel_has_it():
        return 0, "no AF_XDP: this kernel has none"
    queues = _queues(interface)
    if not queues:
        return 0, f"no AF_XDP: there is no interface {interface} here"
    if not Path(XSK_MAP).exists():
        return 0, f"no AF_XDP: nothing is attached to {interface} (`replication.front xdp` does it, as root)"
    return queues, ""


def is_busy(reason: str) -> bool:
    """Return True if dnsdist's message `reason` means that another process uses a queue.

    The message contains the kernel's error text, or in dnsdist 1.9 the error number.
    """
    return f"error -{errno.EBUSY}" in reason or os.strerror(errno.EBUSY) in reason


def attach(config: FrontConfig, *, only_generic: bool = False) -> str:
    """Let dnsdist receive the interface's queries through AF_XDP. Return a description of the mode.

    The interface's driver delivers the packets if it can. Otherwise the kernel does so after receiving the packet
    ("generic"). Raise NotServed with the reason on failure. The result of an earlier call is replaced.
    """
    interface = config.xdp_interface
    queues = _queues(interface) if interface else 0
    if not queues:
        raise _fault_of_xdp(f"there is no interface {interface!r} here")
    if sys.byteorder != "little" or platform.machine() not in _SYSTEM_CALL:
        raise _fault_of_xdp(f"not on {platform.machine()}")
    shutil.rmtree(PINS, ignore_errors=True)
    try:
        PINS.mkdir(mode=0o750)
        maps = Maps(
            _new_map(_XSK_MAP, 4, 4, MOST_QUEUES),
            _new_map(_HASH, KEY4.size, 1, _MOST_ADDRESSES),
            _new_map(_HASH, KEY6.size, 1, _MOST_ADDRESSES),
        )
        for descriptor, keys in zip(maps[1:], encode_keys(config.listen), strict=True):
            for key in keys:
                _put_key(descriptor, key)
        program = _load(encode_program(maps))
        how, link = _link(program, socket.if_nametoindex(interface), only_generic=only_generic)
        _pin(maps.sockets, Path(XSK_MAP))
        for name, layout in (("xsk-destinations-v4", KEY4), ("xsk-destinations-v6", KEY6)):
            _pin(_new_map(_HASH, layout.size, 1, _MOST_ADDRESSES), PINS / name)  # dnsdist's own, which it requires
        _pin(link, PINS / f"link-{interface}")
        _give(config.state_dir)
    except OSError as exc:
        shutil.rmtree(PINS, ignore_errors=True)
        raise _fault_of_xdp(str(exc)) from exc
    return f"{interface}: {queues} queues, {how}"


def _kernel_has_it() -> bool:
    try:
        socket.socket(_FAMILY, socket.SOCK_RAW).close()
    except OSError as exc:
        return exc.errno != errno.EAFNOSUPPORT  # without the right to create one, the error differs
    return True


def _queues(interface: str) -> int:
    return min(MOST_QUEUES, sum(1 for _ in (_INTERFACES / interface / "queues").glob("rx-*")))


def _link(program: int, index: int, *, only_generic: bool) -> tuple[str, int]:
    """Attach the program. Return the mode, and a descriptor that keeps the program attached while open or pinned."""
    if not only_generic:
        try:
            return "by its driver", _bpf(_LINK_CREATE, struct.pack("=IIII", program, index, _XDP_LINK, _NATIVE))
        except OSError:  # each driver reports missing support with another error
            pass
    return "by the kernel", _bpf(_LINK_CREATE, struct.pack("=IIII", program, index, _XDP_LINK, _GENERIC))


def _new_map(kind: int, key: int, value: int, entries: int) -> int:
    return _bpf(_MAP_CREATE, struct.pack("=IIIII", kind, key, value, entries, 0))


def _put_key(descriptor: int, key: bytes) -> None:
    value = ctypes.c_uint8(1)
    kept = ctypes.create_string_buffer(key, len(key))
    _bpf(_MAP_UPDATE, struct.pack("=IxxxxQQQ", descriptor, ctypes.addressof(kept), ctypes.addressof(value), 0))


def _load(code: bytes) -> int:
    """Load the program and return its descriptor. If the kernel rejects it, raise OSError with the end of its log."""
    kept, license_ = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"")
    log = ctypes.create_string_buffer(_LOG_BYTES)
    attributes = struct.pack(
        "=IIQQIIQ",
        _XDP_PROGRAM,
        len(code) // 8,
        ctypes.addressof(kept),
        ctypes.addressof(license_),
        1,
        _LOG_BYTES,
        ctypes.addressof(log),
    )
    try:
        return _bpf(_PROG_LOAD, attributes)
    except OSError as exc:
        words = log.value.decode(errors="replace").strip()
        raise OSError(exc.errno, f"{exc.strerror}: {words[-200:]}") from exc


def _pin(descriptor: int, path: Path) -> None:
    name = ctypes.create_string_buffer(os.fsencode(path))
    _bpf(_OBJ_PIN, struct.pack("=QII", ctypes.addressof(name), descriptor, 0))


def _bpf(command: int, attributes: bytes) -> int:
    """Call bpf(2). Return the new descriptor, or 0 for commands that return none. Raise OSError on failure."""
    kept = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    found = int(_libc.syscall(_SYSTEM_CALL[platform.machine()], command, kept, 128))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def _give(state_dir: Path) -> None:
    """Give the owner of the front's files access to the pinned objects."""
    owner = state_dir.stat()
    for path in (PINS, *PINS.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    above = PINS.parent.stat()
    if owner.st_uid and not above.st_mode & 0o001:
        os.chown(PINS.parent, -1, owner.st_gid)
        PINS.parent.chmod(above.st_mode & 0o7777 | 0o010)


def _fault_of_xdp(found: str) -> NotServed:
    return NotServed(question="AF_XDP", expected="that it can be had", found=found)
