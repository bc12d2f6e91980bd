"""Compile RRsets into rows of the records table: whole zones, changes, and switches of NSEC and NSEC3. Pure."""

from replication.compile.changes import compile_changes
from replication.compile.compiled_rows import ChangedRows, Row, Rows
from replication.compile.denial import HELPER
from replication.compile.full import WireRRset, compile_wires, compile_zone
from replication.compile.switch import switch_denial

__all__ = [
    "HELPER",
    "ChangedRows",
    "Row",
    "Rows",
    "WireRRset",
    "compile_changes",
    "compile_wires",
    "compile_zone",
    "switch_denial",
]
