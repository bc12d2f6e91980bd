"""A real SMTP server in a process of its own: keeps what it takes, refuses what it is told to."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Self

# Started with a directory: writes its port there, then each mail as a file. Addresses that begin with "nobody" are
# refused, and everything while a file `broken` is there.
_PROGRAM = """
import asyncio, json, pathlib, sys
from aiosmtpd.smtp import SMTP
directory = pathlib.Path(sys.argv[1])
class Keeper:
    taken = 0
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 5.1.1 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"
    async def handle_DATA(self, server, session, envelope):
        if (directory / "broken").exists():
            return "451 4.3.0 the disk is full, try again"
        Keeper.taken += 1
        name = f"{Keeper.taken:04d}"
        facts = {"from": envelope.mail_from, "to": envelope.rcpt_tos}
        (directory / f"{name}.json").write_text(json.dumps(facts))
        (directory / f"{name}.part").write_bytes(envelope.content)
        (directory / f"{name}.part").rename(directory / f"{name}.eml")
        return f"250 2.0.0 queued as {name}"
async def main():
    loop = asyncio.get_running_loop()
    keeper = Keeper()
    server = await loop.create_server(lambda: SMTP(keeper, hostname="mail.test"), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@dataclass(frozen=True)
class Mail:
    sender: str
    to: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        return self.message.get_content()


class MailServer:
    """Runs while it is entered."""

    def __enter__(self) -> Self:
        self._directory = tempfile.TemporaryDirectory(prefix="mail-")
        command = [sys.executable, "-c", _PROGRAM, self._directory.name]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._directory.cleanup()

    @property
    def directory(self) -> Path:
        return Path(self._directory.name)

    @property
    def mails(self) -> list[Mail]:
        found = []
        for path in sorted(self.directory.glob("*.eml")):
            inputs = json.loads(path.with_suffix(".json").read_text())
            message = message_from_bytes(path.read_bytes(), policy=policy.default)
            assert isinstance(message, EmailMessage)
            found.append(Mail(inputs["from"], inputs["to"], message))
        return found

    def break_down(self) -> None:
        (self.directory / "broken").touch()

    def recover(self) -> None:
        (self.directory / "broken").unlink()
