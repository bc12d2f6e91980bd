"""A real SMTP server in a separate process. It stores accepted mails and refuses mails when a test requests this."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Mail:
    sender: str
    to: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        return self.message.get_content()


class MailServer:
    """The mail server, which runs within a `with` block."""

    def __enter__(self) -> Self:
        self._directory = tempfile.TemporaryDirectory(prefix="mail-")
        command = [sys.executable, "-m", "tests.alone.mail_server", self._directory.name]
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
