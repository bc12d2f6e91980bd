"""An rsyslog on loopback that receives messages over TLS, parses them itself, and writes them as JSON."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ports import free_port

_CONFIGURATION = """
global(workDirectory="{directory}" maxMessageSize="64k"
       defaultNetstreamDriverCAFile="{directory}/ca.pem"
       defaultNetstreamDriverCertFile="{directory}/server.pem"
       defaultNetstreamDriverKeyFile="{directory}/server.pem")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="{mode}")
module(load="mmpstrucdata")
template(name="json" type="list") {{
  property(name="$!all-json-plain")
  constant(value="\\n")
}}
ruleset(name="evidence") {{
  action(type="mmpstrucdata")
  set $!pri = $pri;
  set $!at = $timereported;
  set $!host = $hostname;
  set $!app = $app-name;
  set $!process = $procid;
  set $!id = $msgid;
  set $!text = $msg;
  set $!version = $protocol-version;
  action(type="omfile" file="{directory}/log" template="json")
}}
input(type="imtcp" address="127.0.0.1" port="{port}" ruleset="evidence")
"""


@dataclass(frozen=True, slots=True)
class Rsyslog:
    """A running rsyslogd."""

    port: int
    directory: Path
    process: "subprocess.Popen[bytes]"

    def stop(self) -> None:
        """Stop rsyslogd after it has written everything that it has read."""
        self.process.terminate()
        self.process.wait(30)

    def messages(self) -> list[dict[str, Any]]:
        """Stop rsyslogd and return its messages in order."""
        self.stop()
        log = self.directory / "log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@contextmanager
def running_rsyslog(directory: Path, *, server: str, ca: str = "", port: int = 0) -> Iterator[Rsyslog]:
    """Run rsyslogd with this certificate and key in PEM. A `ca` limits it to clients with that CA's certificates."""
    (directory / "server.pem").write_text(server)
    (directory / "ca.pem").write_text(ca or server)
    port = port or free_port()
    mode = "x509/certvalid" if ca else "anon"
    configuration = directory / "rsyslog.conf"
    configuration.write_text(_CONFIGURATION.format(directory=directory, port=port, mode=mode))
    with (directory / "output").open("wb") as output:
        process = subprocess.Popen(
            ["rsyslogd", "-n", "-f", str(configuration), "-i", str(directory / "pid")], stdout=output, stderr=output
        )
    try:
        _wait_for(port, process, directory / "output")
        yield Rsyslog(port, directory, process)
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", output: Path) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(output.read_text())
