"""Read the DNS questions that reach the node's port, from a copy of the packets that the kernel writes into memory.

PowerDNS's ring buffers have no questions over TCP, and lose questions between a reading and a reset. So the agent uses
a packet socket (packet(7)) for each IP version, which needs CAP_NET_RAW. A filter in the kernel selects packets to the
port. The kernel copies the first bytes of each into a ring of frames, and counts the packets that found no free frame.
"""

import mmap
import socket
import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from replication.verify import OWN_TRAFFIC_CLASS

_FRAME, _BLOCK, _BLOCKS = 1024, 1 << 16, 64  # 4,096 frames in 4 MiB for each IP version
# Constants of linux/if_packet.h, linux/if_ether.h and asm/socket.h.
_SOL_PACKET, _RECEIVE, _STATISTICS, _VERSION, _V2 = 263, 5, 6, 10, 1
_ATTACH_FILTER = 26
_ETHERNET_TYPES = {4: 0x0800, 6: 0x86DD}
_HEADER = struct.Struct("=IIIHH")  # status, length, captured length, and where the packet begins (twice)
_FREE = b"\0\0\0\0"
_TCP, _UDP, _FIN_OR_RESET, _SYN = 6, 17, 0x05, 0x02
_MOST_STREAMS = 4096
_LOOPBACK = b"\x7f"
# Opcodes of the filter: load a byte, half-word or word, load the length of the IPv4 header, jump, return.
_LDB, _LDH, _LDW, _LDX_IHL, _LDH_X, _JEQ, _JSET, _RET = 0x30, 0x28, 0x20, 0xB1, 0x48, 0x15, 0x45, 0x06
_PACKET_TYPE = 0xFFFFF004  # offset of a packet's type; 0: to this host


class Captured(NamedTuple):
    """A captured packet with a DNS message, or a message of a TCP stream. `is_own` is True if this agent sent it."""

    message: bytes
    is_own: bool


class Capture:
    """The questions to a port, until `close`. Raise OSError if the kernel allows no packet sockets.

    `lost` counts what this reader could not read: segments of TCP that are missing or longer than a frame.
    """

    def __init__(self, port: int) -> None:
        self._sockets = [_Frames(version, port) for version in _ETHERNET_TYPES]
        self._streams: dict[bytes, tuple[int, bytes]] = {}
        self.lost = 0

    def close(self) -> None:
        for frames in self._sockets:
            frames.close()

    def count_dropped(self) -> int:
        """Return the number of packets that the kernel dropped since the last call, because the ring was full."""
        return sum(frames.count_dropped() for frames in self._sockets)

    def read(self) -> Iterator[Captured]:
        """Yield the messages that have arrived since the last call."""
        for frames in self._sockets:
            for packet in frames.packets():
                yield from self._messages(packet, frames.version)

    def _messages(self, packet: bytes, version: int) -> Iterator[Captured]:
        if version == 4:
            start, protocol, addresses = (packet[0] & 15) * 4, packet[9], packet[12:20]
            end, traffic_class = int.from_bytes(packet[2:4], "big"), packet[1]
        else:
            start, protocol, addresses = 40, packet[6], packet[8:40]
            end, traffic_class = 40 + int.from_bytes(packet[4:6], "big"), (packet[0] & 15) << 4 | packet[1] >> 4
        if protocol == _UDP:
            half = len(addresses) // 2
            is_local = addresses[:half] == addresses[half:] or addresses[:1] == _LOOPBACK
            yield Captured(packet[start + 8 : end], traffic_class == OWN_TRAFFIC_CLASS and is_local)
        elif len(packet) >= start + 20:
            for message in self._segment(packet, start, end, addresses):
                yield Captured(message, is_own=False)

    def _segment(self, packet: bytes, start: int, end: int, addresses: bytes) -> Iterator[bytes]:
        """Yield the complete messages of a TCP stream after this segment. Repeated segments add nothing."""
        sequence = int.from_bytes(packet[start + 4 : start + 8], "big")
        stream, flags = addresses + packet[start : start + 2], packet[start + 13]
        if flags & _SYN:
            sequence += 1
        at = start + (packet[start + 12] >> 4) * 4
        size = end - at
        if size <= 0:
            if flags & (_FIN_OR_RESET | _SYN):
                self._streams.pop(stream, None)
            return
        expected, rest = self._streams.pop(stream, (sequence, b""))
        ahead = (sequence - expected + (1 << 31)) % (1 << 32) - (1 << 31)
        if ahead < 0:
            self._streams[stream] = expected, rest
            return
        self.lost += ahead > 0 or end > len(packet)
        rest = packet[at:end] if ahead else rest + packet[at:end]
        while len(rest) >= 2 and len(rest) >= (length := 2 + int.from_bytes(rest[:2], "big")):
            yield rest[2:length]
            rest = rest[length:]
        if not flags & _FIN_OR_RESET and end <= len(packet):
            self._streams[stream] = (sequence + size) % (1 << 32), rest
        if len(self._streams) > _MOST_STREAMS:
            _, begun = self._streams.pop(next(iter(self._streams)))
            self.lost += bool(begun)


class _Frames:
    """A packet socket for one IP version with its ring of frames. The kernel and this reader take turns by a status."""

    def __init__(self, version: int, port: int) -> None:
        self.version = version
        # When it sets up the ring, the kernel discards the packets that arrived before the filter was there.
        protocol = socket.htons(_ETHERNET_TYPES[version])
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, protocol)
        try:
            program = array("B", _filter_for(version, port))
            address, length = program.buffer_info()
            self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", length // 8, address))
            self._socket.setsockopt(_SOL_PACKET, _VERSION, _V2)
            size = struct.pack("=IIII", _BLOCK, _BLOCKS, _FRAME, _BLOCK // _FRAME * _BLOCKS)
            self._socket.setsockopt(_SOL_PACKET, _RECEIVE, size)
            self._memory = mmap.mmap(self._socket.fileno(), _BLOCK * _BLOCKS)
        except BaseException:
            self._socket.close()
            raise
        self._at = 0

    def close(self) -> None:
        self._memory.close()
        self._socket.close()

    def count_dropped(self) -> int:
        return struct.unpack("=II", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8))[1]  # type: ignore[no-any-return]

    def packets(self) -> Iterator[bytes]:
        """Yield the packets in the ring, at most as many as it has frames, and give their frames back."""
        memory = self._memory
        for _ in range(_BLOCK // _FRAME * _BLOCKS):
            status, _, captured, _, begin = _HEADER.unpack_from(memory, self._at)
            if not status & 1:
                return
            begin += self._at
            yield memory[begin : begin + captured]
            memory[self._at : self._at + len(_FREE)] = _FREE
            self._at = (self._at + _FRAME) % len(memory)


def _filter_for(version: int, port: int) -> bytes:
    """Return the filter (classic BPF) for UDP and TCP packets to the port of this host, without later fragments."""
    refuse = -1  # a jump to the last instruction
    fragment = [(_LDH, 0, 0, 6), (_JSET, refuse, 0, 0x1FFF)] if version == 4 else []
    load_port = [(_LDX_IHL, 0, 0, 0), (_LDH_X, 0, 0, 2)] if version == 4 else [(_LDH, 0, 0, 42)]
    program = [
        (_LDW, 0, 0, _PACKET_TYPE),
        (_JEQ, 0, refuse, 0),
        (_LDB, 0, 0, 9 if version == 4 else 6),
        (_JEQ, 1, 0, _UDP),
        (_JEQ, 0, refuse, _TCP),
        *fragment,
        *load_port,
        (_JEQ, 0, refuse, port),
        (_RET, 0, 0, _FRAME),
        (_RET, 0, 0, 0),
    ]
    to_end = range(len(program) - 2, -2, -1)
    return b"".join(
        struct.pack("=HBBI", code, *(end if jump == refuse else jump for jump in jumps), value)
        for (code, *jumps, value), end in zip(program, to_end, strict=True)
    )
