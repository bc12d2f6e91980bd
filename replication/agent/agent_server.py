"""Answer the HTTP requests (see `protocol`) that the panel sends to a node over its `channel`."""

import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from replication.agent.agent_identity import IdentityKeeper
from replication.agent.channel import IDENTITY_PUTS, PanelHandler, PanelServer, bad_request
from replication.agent.integrity_scan import IntegrityScanner
from replication.agent.kept_sealing_keys import SealingKeys
from replication.agent.powerdns.observe import Observer
from replication.agent.powerdns.powerdns_computed_types import ComputedTypesKeeper
from replication.agent.powerdns.query_counts import QueryCounter
from replication.agent.powerdns.top import TopLists
from replication.agent.updates.apply_push import Applier
from replication.agent.updates.snapshot_upload import Snapshots
from replication.agent.upgrade_request import UpgradeRequest
from replication.agent.zones import zones_answer
from replication.errors import NotServed, ReplicationError
from replication.store.snapshot import MAX_MANIFEST, MAX_STORED_CHUNK
from replication.store.store import Store
from replication.wire import protocol


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the agent that its server uses. `end_powerdns` returns False if PowerDNS wasn't running."""

    applier: Applier
    observer: Observer
    status: Callable[[], protocol.Status]
    top_lists: TopLists
    query_counter: QueryCounter
    scanner: IntegrityScanner
    store: Store
    snapshots: Snapshots
    end_powerdns: Callable[[], bool]
    computed_types: ComputedTypesKeeper
    sealing_keys: SealingKeys
    upgrade: UpgradeRequest


class AgentServer(PanelServer):
    """The node's server for the panel. A client that hangs blocks only one thread."""

    def __init__(
        self, address: tuple[str, int], identity: IdentityKeeper, parts: Parts, *, spool: Path, max_body: int
    ) -> None:
        self.parts = parts
        super().__init__(
            address, identity, _Handler, observer=parts.observer, status=parts.status, spool=spool, max_body=max_body
        )


class _Handler(PanelHandler):
    server: AgentServer

    def _get(self, target: urllib.parse.SplitResult) -> None:
        if target.path.startswith(protocol.ZONES_PATH):
            self._show_zones(target.path, urllib.parse.parse_qs(target.query))
        elif target.path == protocol.ACK_PATH:
            self._answer_with(lambda: self.server.parts.applier.ack().to_json())
        elif target.path == protocol.TOP_PATH:
            self._answer_with(lambda: self.server.parts.top_lists.read().to_json())
        elif target.path == protocol.QUERY_REPORT_PATH:
            taken = urllib.parse.parse_qs(target.query).get("taken", [""])[0]
            self._answer_with(lambda: self.server.parts.query_counter.report(taken))
        elif target.path == protocol.TOP_ZONES_PATH:
            self._show_top_of_zones(urllib.parse.parse_qs(target.query).get("zone", []))
        else:
            super()._get(target)

    def _show_top_of_zones(self, zones: Sequence[str]) -> None:
        if len(zones) > protocol.MOST_TOP_ZONES:
            self._answer(400, bad_request(f"at most {protocol.MOST_TOP_ZONES} zones are counted at once"))
            return
        lists = self.server.parts.top_lists
        self._answer_with(lambda: {zone: top.to_json() for zone, top in lists.of_zones(zones).items()})

    def _post(self) -> None:
        if self.path == protocol.CHECK_PATH:
            self.server.parts.scanner.check_now()
            self._answer(200, protocol.encode_message({}))
        elif self.path == protocol.RESTART_PATH:
            self._answer_with(self._restart)
        elif found := _INSTALL.fullmatch(self.path):
            unproven = protocol.decode_unproven(self.headers.get(protocol.UNPROVEN, ""))
            self._answer_with(lambda: self.server.parts.snapshots.install(found[1], unproven=unproven).to_json())
        else:
            super()._post()

    def _restart(self) -> Mapping[str, Any]:
        if not self.server.parts.end_powerdns():
            raise NotServed(question="quit on the control socket", expected="PowerDNS", found="nobody")
        return {}

    def _take_snapshot(self, size: int) -> bool:
        """Receive a manifest or chunk of a snapshot, and send the response. Return False for any other request."""
        if found := _SNAPSHOT_CHUNK.fullmatch(self.path):
            name, number, limit = found[1], int(found[2]), MAX_STORED_CHUNK
        elif found := _SNAPSHOT.fullmatch(self.path):
            name, number, limit = found[1], None, MAX_MANIFEST
        else:
            return False
        if size > limit:
            self._refuse_unread(413, f"at most {limit} bytes are taken at once")
            return True
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionResetError("the body ended too early")
        if number is None:
            self._answer_with(lambda: {"missing": self.server.parts.snapshots.offer(name, body)})
        else:
            self._answer_with(partial(self._take_chunk, name, number, body))
        return True

    def _take_chunk(self, name: str, number: int, body: bytes) -> Mapping[str, Any]:
        self.server.parts.snapshots.take_chunk(name, number, body)
        return {}

    def do_PUT(self) -> None:
        if self._take_small(_SMALL_PUTS):
            return
        size = self.headers.get("Content-Length", "")
        if size.isdecimal() and self._take_snapshot(int(size)):
            return
        if self.path not in _PUSHES or not size.isdecimal():
            self._refuse_unread(404 if self.path not in _PUSHES else 411, "not a push")
        elif int(size) > self.server.max_body:
            self._refuse_unread(413, f"at most {self.server.max_body} bytes are taken at once")
        else:
            self._push(int(size), lambda body: _PUSHES[self.path](self.server, body, self.headers))

    def _show_zones(self, path: str, query: Mapping[str, Sequence[str]]) -> None:
        try:
            message = zones_answer(self.server.parts.store, path, query, self.server.parts.sealing_keys.newest)
        except ValueError:
            self._answer(400, bad_request("after has to be the id of a zone"))
        except ReplicationError as exc:
            self._answer(*protocol.encode_refusal(exc, self._position()))
        else:
            self._answer(404 if message is None else 200, protocol.encode_message(message))


def _take_sealing_keys(server: AgentServer, body: bytes) -> None:
    server.parts.sealing_keys.take(body)


def _choose_computed_types(server: AgentServer, body: bytes) -> None:
    server.parts.computed_types.choose(protocol.decode_message(body))


def _apply(server: AgentServer, body: bytes | BinaryIO, headers: Message) -> Mapping[str, Any]:
    may_defer, unproven = (
        headers.get("Prefer") == protocol.RESPOND_ASYNC,
        protocol.decode_unproven(headers.get(protocol.UNPROVEN, "")),
    )
    return server.parts.applier.apply(body, may_defer=may_defer, unproven=unproven).to_json()


def _repair(server: AgentServer, body: bytes | BinaryIO, headers: Message) -> Mapping[str, Any]:
    ack, repaired = server.parts.applier.repair(
        body, unproven=protocol.decode_unproven(headers.get(protocol.UNPROVEN, ""))
    )
    server.parts.scanner.recheck([repaired.mark.zone_id])
    return ack.to_json() | {"words": repaired.differences, "rows": repaired.rows}


def _take_upgrade(server: AgentServer, body: bytes | BinaryIO, headers: Message) -> Mapping[str, Any]:
    server.parts.upgrade.take(body)
    return {}


_SNAPSHOT = re.compile(re.escape(protocol.SNAPSHOTS_PATH) + r"/([0-9a-f]{32})")
_SNAPSHOT_CHUNK = re.compile(_SNAPSHOT.pattern + r"/chunks/([0-9]{1,6})")
_INSTALL = re.compile(_SNAPSHOT.pattern + r"/install")
# Bodies of any size, read from memory or from disk.
_PUSHES: Mapping[str, Callable[[AgentServer, bytes | BinaryIO, Message], Mapping[str, Any]]] = {
    protocol.SEGMENTS_PATH: _apply,
    protocol.REPAIRS_PATH: _repair,
    protocol.UPGRADE_PATH: _take_upgrade,
}
# Bodies that are read at once. All other PUTs are pushes.
_SMALL_PUTS: Mapping[str, Callable[[Any, bytes], None]] = {
    **IDENTITY_PUTS,
    protocol.SEALING_KEYS_PATH: _take_sealing_keys,
    protocol.COMPUTED_TYPES_PATH: _choose_computed_types,
}
