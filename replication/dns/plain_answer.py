"""Check quickly if an answer in wire form is exactly a given RRset, for simple cases only. Pure.

A node queries everything that a push touched. Parsing each answer in full with dnspython costs more than the rest of
the push. If the check returns False, the answer can still be right, and has to be parsed in full.
"""

import struct
from collections.abc import Collection

from replication.dns import names
from replication.dns.compression import BadCompression, expand_rdata

_HEADER = struct.Struct(">HHHHHH")
_FIXED = struct.Struct(">HHIH")  # type, class, TTL, length of the rdata
_QUESTION = 12
_OWNER = b"\xc0\x0c"  # a pointer to the queried name
# QR, opcode, AA, TC and the rcode of the flags: an authoritative answer, complete and without error.
_FLAGS_MASK, _FLAGS = 0xFE0F, 0x8400


def is_plainly(packet: bytes, name: str, type: int, ttl: int, rdata: Collection[bytes]) -> bool:
    """Return True only if the answer section is exactly this RRset, and the packet is valid up to the section's end.

    `rdata` is in uncompressed wire form, without duplicates.
    """
    try:
        _, flags, questions, answers, _, _ = _HEADER.unpack_from(packet)
        question = names.to_wire(name) + struct.pack(">HH", type, 1)
        at = _QUESTION + len(question)
        if flags & _FLAGS_MASK != _FLAGS or questions != 1 or answers != len(rdata) or not answers:
            return False
        if packet[_QUESTION:at] != question:
            return False
        found = set()
        for _ in range(answers):
            record = _FIXED.unpack_from(packet, at + 2)
            if packet[at : at + 2] != _OWNER or record[:3] != (type, 1, ttl):
                return False
            start, at = at + 12, at + 12 + record[3]
            found.add(expand_rdata(packet, start, at, type)[0])
    except (struct.error, IndexError, BadCompression):
        return False
    return at <= len(packet) and found == set(rdata)
