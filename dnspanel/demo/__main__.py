"""The commands with which the script `dev` starts stacks.

python -m dnspanel.demo run                       run the demo until Ctrl-C
python -m dnspanel.demo exec COMMAND ...          run COMMAND in the environment of the demo
python -m dnspanel.demo stores DIRECTORY COMMAND ...
                                                  start PostgreSQL and Redis, run COMMAND, and stop both
"""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from dnspanel.demo import unprivileged
from dnspanel.demo.ports import PortTaken
from dnspanel.demo.stack import Stack, StackError, StackShape
from dnspanel.demo.starting import NotUp
from dnspanel.demo.stores import StoreNotReady
from dnspanel.demo.supervision import NotStarted

DEMO_DIRECTORY = unprivileged.CHECKOUT / "var"
WEB_PORT = 8000
# Used if free: easy to type after `dig -p`, and outside the range that other stacks choose from.
PORTS = {
    "ns1-dns": 5301,
    "ns2-dns": 5302,
    "ns3-dns": 5303,
    "front1-dns": 5300,
    "ns1-agent": 5311,
    "ns2-agent": 5312,
    "ns3-agent": 5313,
    "ns1-statistics": 5321,
    "ns2-statistics": 5322,
    "ns3-statistics": 5323,
    "front1-agent": 5310,
    "front1-statistics": 5320,
    "postgres": 5331,
    "redis": 5332,
    "update": 5340,
}


class Stopped(BaseException):
    """Raised in the main program when it receives a signal to stop."""


def stop(number: int, frame: FrameType | None) -> None:
    """Raise Stopped, and ignore further signals so that a second Ctrl-C doesn't interrupt the cleanup."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped


def run() -> int:
    """Start the demo, print its addresses, and run it until a stop signal. Return the exit status."""
    stack = Stack(
        DEMO_DIRECTORY, StackShape(front=True, forks=True, people=True), requested_ports=requested_ports(), say=say
    )
    try:
        with contextlib.ExitStack() as end:
            end.callback(stack.stop)
            stack.start_pages()
            say(welcome(stack))
            stack.start_others()
            say(addresses(stack))
            while stack.supervisor.is_running:
                threading.Event().wait(0.5)
            say("The process supervisor has ended, so the stack stops.")
            return 1
    except Stopped:
        say("Stopped. `./dev run` starts the stack again with the same data.")
        return 0


def requested_ports() -> dict[str, int]:
    """Return the demo's preferred ports. The web port is PANEL_PORT, or the port of the last start, or 8000.

    Raise StackError if PANEL_PORT isn't a port number.
    """
    ports = dict(PORTS)
    chosen = os.environ.get("PANEL_PORT")
    if chosen is not None:
        if not (chosen.isdecimal() and 0 < int(chosen) < 65536):
            raise StackError(f"PANEL_PORT must be a port number from 1 to 65535, not {chosen!r}.")
        ports["web"] = int(chosen)
    elif not (DEMO_DIRECTORY / "stack.json").exists():
        ports["web"] = WEB_PORT
    return ports


def welcome(stack: Stack) -> str:
    """Return a box with instructions for opening the panel. The nodes are possibly still starting."""
    return add_frame([*stack.manage("demo_welcome").strip().splitlines(), "", "The name servers start. Stop: Ctrl-C"])


def addresses(stack: Stack) -> str:
    """Return a box with commands for the DNS servers, DNS UPDATE and the command line, and the path of the logs."""
    dig = [f"dig @127.0.0.1 -p {node.dns_port} www.example.com" for node in stack.nodes]
    update = f"nsupdate: server 127.0.0.1 {stack.update_port}   (with a TSIG key of the panel; AXFR too)"
    lines = ["Query the three name servers:", *dig]
    if stack.front:
        lines += ["Query the dnsdist front:", f"dig @127.0.0.1 -p {stack.front.dns_port} www.example.com"]
    lines += ["", "Change records with DNS UPDATE:", update]
    lines += ["", "The command line, for this panel (a token: Access → Tokens):"]
    lines += [f"export PATH={shlex.quote(str(stack.command_line.parent))}:$PATH", "export DNSPANEL_TOKEN=…"]
    lines += ["dnspanel zones list"]
    lines += ["", f"Logs: {stack.supervisor.logs}   To stop, press Ctrl-C."]
    return add_frame(lines)


def add_frame(lines: Sequence[str]) -> str:
    """Return the lines with a frame around them."""
    width = max(map(len, lines))
    body = [f"│ {line:<{width}} │" for line in lines]
    return "\n".join([f"╭{'─' * (width + 2)}╮", *body, f"╰{'─' * (width + 2)}╯"])


def execute(command: Sequence[str]) -> int:
    """Run the command as the demo's user, with the demo's environment. Return its exit status."""
    env = Stack(DEMO_DIRECTORY).env
    return subprocess.run([*unprivileged.prefix(), *command], env=env, cwd=unprivileged.CHECKOUT).returncode


def with_stores(directory: Path, command: Sequence[str]) -> int:
    """Run the command with a private PostgreSQL and Redis in `directory`. Return the command's exit status."""
    with Stack(directory, StackShape(stores_only=True, durable=False)) as stack:
        return subprocess.run(command, env=_with_plain_values(stack.env), cwd=unprivileged.CHECKOUT).returncode


def _with_plain_values(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with secrets as values instead of files, so that tests can replace each secret."""
    found = {**env, "HOME": os.environ.get("HOME", "/")}
    for name in [name for name in found if name.startswith("PANEL_") and name.endswith("_FILE")]:
        path = Path(found.pop(name))
        if path.exists():
            found[name.removesuffix("_FILE")] = path.read_text()
    return found


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="dnspanel.demo", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run")
    verbs.add_parser("exec").add_argument("command", nargs=argparse.REMAINDER)
    stores = verbs.add_parser("stores")
    stores.add_argument("directory", type=Path)
    stores.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(arguments)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, stop)
    try:
        if chosen.verb == "run":
            return run()
        if chosen.verb == "exec":
            return execute(chosen.command)
        return with_stores(chosen.directory, chosen.command)
    except (StackError, StoreNotReady, NotStarted, NotUp, PortTaken, unprivileged.NoWayIn) as exc:
        print(exc, file=sys.stderr)
        return 1
    except Stopped:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
