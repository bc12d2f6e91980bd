"""Create the program that the kernel runs for each packet of an interface, to select packets for dnsdist. Pure.

    packet                                                action
    --------------------------------------------------    -----------------------------------------------
    IPv4 without options, not a fragment, or IPv6;        to dnsdist's socket for the queue, or to the
    UDP, to an address and port that dnsdist listens on   kernel as usual if there is no socket
    anything else                                         to the kernel as usual

The addresses are in two maps of our own. dnsdist also has such maps, but it empties them whenever its program starts,
even for one console command, so this program doesn't use them.

One instruction is eight bytes: code, registers (source in the upper half), offset, value.
"""

import ipaddress
import struct
from collections.abc import Sequence
from typing import NamedTuple

from replication.wire.front_messages import Endpoint

_INSTRUCTION = struct.Struct("<BBhi")
KEY4, KEY6 = struct.Struct("=4sHxx"), struct.Struct("=16sHxx")

# Codes of linux/bpf.h: class, size or operation, mode or source.
_LOAD8, _LOAD16, _LOAD32 = 0x71, 0x69, 0x61
_STORE16, _STORE32, _STORE16_VALUE = 0x6B, 0x63, 0x6A
_COPY, _SET, _ADD = 0xBF, 0xB7, 0x07
_AND = 0x57
_IF_EQUAL, _IF_NOT_EQUAL, _IF_GREATER_REGISTER = 0x15, 0x55, 0x2D
_JUMP, _CALL, _EXIT = 0x05, 0x85, 0x95
_LOAD_MAP, _IS_MAP = 0x18, 1
_LOOK_UP, _REDIRECT_MAP = 1, 51
_PASS = 2

# Offsets in a frame, and in the program's argument.
_ETHERTYPE, _IP = 12, 14
_IP4_FRAGMENT, _IP4_PROTOCOL, _IP4_TO, _UDP4_PORT, _END4 = _IP + 6, _IP + 9, _IP + 16, _IP + 22, _IP + 28
_IP6_NEXT, _IP6_TO, _UDP6_PORT, _END6 = _IP + 6, _IP + 24, _IP + 42, _IP + 48
_DATA, _DATA_END, _QUEUE = 0, 4, 16
_UDP, _NO_OPTIONS = 17, 0x45
# As read by a little-endian machine: the packet's bytes are big-endian.
_IS_IP4, _IS_IP6, _FRAGMENT_BITS = 0x0008, 0xDD86, 0xFF3F
_KEY4_AT, _KEY6_AT = -8, -24


class Maps(NamedTuple):
    """File descriptors of the maps that the program reads."""

    sockets: int
    addresses4: int
    addresses6: int


class _Code:
    """Instructions, with jumps to labels that are resolved at the end."""

    def __init__(self) -> None:
        self._code: list[tuple[int, int, int, int | str, int]] = []
        self._labels: dict[str, int] = {}

    def add(self, code: int, to: int = 0, source: int = 0, offset: int | str = 0, value: int = 0) -> None:
        self._code.append((code, to, source, offset, value))

    def load_map(self, to: int, descriptor: int) -> None:
        self.add(_LOAD_MAP, to, _IS_MAP, 0, descriptor)
        self.add(0)  # the upper half of the value

    def label(self, name: str) -> None:
        self._labels[name] = len(self._code)

    def encode(self) -> bytes:
        out = bytearray()
        for at, (code, to, source, offset, value) in enumerate(self._code):
            distance = self._labels[offset] - at - 1 if isinstance(offset, str) else offset
            out += _INSTRUCTION.pack(code, source << 4 | to, distance, value)
        return bytes(out)


def encode_program(maps: Maps) -> bytes:
    """Encode the program's instructions. The module's docstring describes their effect.

    Register 6 contains the program's argument, 7 the frame, 8 the frame's end.
    """
    code = _Code()
    code.add(_COPY, 6, 1)
    code.add(_LOAD32, 7, 6, _DATA)
    code.add(_LOAD32, 8, 6, _DATA_END)
    _pass_if_shorter(code, _IP)
    code.add(_LOAD16, 2, 7, _ETHERTYPE)
    code.add(_IF_EQUAL, 2, 0, "ip6", _IS_IP6)
    code.add(_IF_NOT_EQUAL, 2, 0, "pass", _IS_IP4)

    _pass_if_shorter(code, _END4)
    _pass_unless(code, _LOAD8, _IP, _NO_OPTIONS)
    code.add(_LOAD16, 2, 7, _IP4_FRAGMENT)
    code.add(_AND, 2, 0, 0, _FRAGMENT_BITS)
    code.add(_IF_NOT_EQUAL, 2, 0, "pass", 0)
    _pass_unless(code, _LOAD8, _IP4_PROTOCOL, _UDP)
    _make_key(code, at=_KEY4_AT, address=_IP4_TO, words=1, port=_UDP4_PORT)
    code.load_map(1, maps.addresses4)
    code.add(_COPY, 2, 10)
    code.add(_ADD, 2, 0, 0, _KEY4_AT)
    code.add(_JUMP, 0, 0, "look up")

    code.label("ip6")
    _pass_if_shorter(code, _END6)
    _pass_unless(code, _LOAD8, _IP6_NEXT, _UDP)
    _make_key(code, at=_KEY6_AT, address=_IP6_TO, words=4, port=_UDP6_PORT)
    code.load_map(1, maps.addresses6)
    code.add(_COPY, 2, 10)
    code.add(_ADD, 2, 0, 0, _KEY6_AT)

    code.label("look up")
    code.add(_CALL, value=_LOOK_UP)
    code.add(_IF_EQUAL, 0, 0, "pass", 0)
    code.load_map(1, maps.sockets)
    code.add(_LOAD32, 2, 6, _QUEUE)
    code.add(_SET, 3, value=_PASS)  # if the queue has no socket
    code.add(_CALL, value=_REDIRECT_MAP)
    code.add(_EXIT)
    code.label("pass")
    code.add(_SET, 0, value=_PASS)
    code.add(_EXIT)
    return code.encode()


def encode_keys(listen: Sequence[Endpoint]) -> tuple[list[bytes], list[bytes]]:
    """Encode the keys of both address maps: IPv4, then IPv6."""
    keys4, keys6 = [], []
    for endpoint in listen:
        address = ipaddress.ip_address(endpoint.address)
        port = int.from_bytes(endpoint.port.to_bytes(2, "big"), "little")
        if address.version == 4:
            keys4.append(KEY4.pack(address.packed, port))
        else:
            keys6.append(KEY6.pack(address.packed, port))
    return keys4, keys6


def _pass_if_shorter(code: _Code, size: int) -> None:
    code.add(_COPY, 2, 7)
    code.add(_ADD, 2, 0, 0, size)
    code.add(_IF_GREATER_REGISTER, 2, 8, "pass")


def _pass_unless(code: _Code, load: int, at: int, value: int) -> None:
    code.add(load, 2, 7, at)
    code.add(_IF_NOT_EQUAL, 2, 0, "pass", value)


def _make_key(code: _Code, *, at: int, address: int, words: int, port: int) -> None:
    """Emit code that builds the key for the packet's destination on the stack, zero-padded as in the maps."""
    for word in range(0, 4 * words, 4):
        code.add(_LOAD32, 2, 7, address + word)
        code.add(_STORE32, 10, 2, at + word)
    code.add(_LOAD16, 2, 7, port)
    code.add(_STORE16, 10, 2, at + 4 * words)
    code.add(_STORE16_VALUE, 10, 0, at + 4 * words + 2, 0)
