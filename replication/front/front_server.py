"""Answer the HTTP requests (see `protocol`) that the panel sends to a front, over `replication.agent.channel`."""

import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from replication.agent.agent_identity import IdentityKeeper
from replication.agent.channel import IDENTITY_PUTS, PanelHandler, PanelServer
from replication.agent.powerdns.observe import Observer
from replication.store.snapshot import MAX_MANIFEST
from replication.wire.front_messages import FrontSettings
from replication.wire.protocol import ACK_PATH, FRONT_PATH, SEGMENTS_PATH, SNAPSHOTS_PATH, Ack, Status, decode_message

MAX_BODY = 2048 << 20
_SNAPSHOT = f"{SNAPSHOTS_PATH}/"
_INSTALL = "/install"


@dataclass(frozen=True, slots=True)
class Parts:
    observer: Observer
    status: Callable[[], Status]
    ack: Callable[[], Ack]
    take: Callable[[bytes | BinaryIO], Ack]
    offer: Callable[[str, bytes], Sequence[int]]
    install: Callable[[str], Ack]
    set_up: Callable[[FrontSettings], None]


class FrontServer(PanelServer):
    """The front's server for the panel. A client that hangs blocks only one thread."""

    def __init__(self, address: tuple[str, int], identity: IdentityKeeper, parts: Parts, *, spool: Path) -> None:
        self.parts = parts
        super().__init__(
            address, identity, _Handler, observer=parts.observer, status=parts.status, spool=spool, max_body=MAX_BODY
        )


class _Handler(PanelHandler):
    server: FrontServer

    def _get(self, target: urllib.parse.SplitResult) -> None:
        if target.path == ACK_PATH:
            self._answer_with(lambda: self.server.parts.ack().to_json())
        else:
            super()._get(target)

    def _post(self) -> None:
        if self.path.startswith(_SNAPSHOT) and self.path.endswith(_INSTALL):
            name = self.path.removeprefix(_SNAPSHOT).removesuffix(_INSTALL)
            self._answer_with(lambda: self.server.parts.install(name).to_json())
        else:
            super()._post()

    def do_PUT(self) -> None:
        if self._take_small(_SMALL_PUTS):
            return
        size = self.headers.get("Content-Length", "")
        is_manifest = self.path.startswith(_SNAPSHOT)
        if not size.isdecimal() or (self.path != SEGMENTS_PATH and not is_manifest):
            self._refuse_unread(404, "not for a front")
        elif int(size) > (MAX_MANIFEST if is_manifest else self.server.max_body):
            self._refuse_unread(413, "so much is not taken at once")
        elif is_manifest:
            self._push(int(size), self._take_manifest)
        else:
            self._push(int(size), lambda body: self.server.parts.take(body).to_json())

    def _take_manifest(self, body: Any) -> Mapping[str, Any]:
        sealed = body if isinstance(body, bytes) else body.read()
        return {"missing": list(self.server.parts.offer(self.path.removeprefix(_SNAPSHOT), sealed))}


def _set_up(server: FrontServer, body: bytes) -> None:
    server.parts.set_up(FrontSettings.from_json(decode_message(body)))


_SMALL_PUTS: Mapping[str, Callable[[Any, bytes], None]] = {**IDENTITY_PUTS, FRONT_PATH: _set_up}
