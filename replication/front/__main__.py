"""The front's command line.

python -m replication.front conf   --config FILE     print dnsdist's configuration, each line with its reason
python -m replication.front write  --config FILE     write the configuration, if dnsdist would start with it
python -m replication.front run    --config FILE     write the configuration, and maintain the rotation until stopped;
                                                     a front that enrolled also serves the panel
python -m replication.front start  --config FILE     become dnsdist, with the written configuration
python -m replication.front xdp    --config FILE     let dnsdist get questions with AF_XDP; run as root
python -m replication.front status --config FILE     print each backend's position and numbers as JSON
python -m replication.front enroll --panel URL --code CODE --dir DIR
python -m replication.front join   --panel URL --code CODE [...]     enroll, configure, and write the units
"""

import argparse
import json
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from replication import __version__, log_lines
from replication.agent.agent_config import BadConfig
from replication.agent.joining.ask_to_enroll import NotEnrolled, enroll
from replication.agent.joining.install_agent import CannotJoin, add_options
from replication.agent.recent_log import RECENT_LOG
from replication.errors import BadBytes, ReplicationError
from replication.front.agent import FrontAgent
from replication.front.front import Front
from replication.front.front_config import FrontConfig, read_config
from replication.front.join_front import Joining, join, start_units
from replication.front.xdp import attach

# The interval at which dnsdist's start waits for nodes.
WAIT_SECONDS = 0.25


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Return 0 on success, 130 after Ctrl-C, or 1 after printing an expected error."""
    options = _parser().parse_args(arguments)
    log_lines.write_to_stderr(os.environ.get("AGENT_LOG_FORMAT", log_lines.TEXT))
    logging.getLogger().addHandler(RECENT_LOG)
    try:
        if options.command == "enroll":
            enroll(options.panel, options.code, options.dir, say=_say)
            return 0
        if options.command == "join":
            join(_joining(options), say=_say)
            if not options.no_start:
                start_units(_say)
            return 0
        config = read_config(options.config)
        if options.command == "run":
            _run(config)
        elif options.command == "start":
            _start(options.config)
        elif options.command == "xdp":
            _say(attach(config, only_generic=options.generic))
        else:
            _once(config, options.command)
    except (BadConfig, CannotJoin, NotEnrolled, ReplicationError, OSError) as exc:
        print(f"{type(exc).__name__}: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _once(config: FrontConfig, command: str) -> None:
    front = Front(config)
    if command == "conf":
        sys.stdout.write(front.conf())
    elif command == "status":
        print(json.dumps(_status(front), indent=2))
    else:
        front.write()


def _start(path: Path) -> None:
    """Wait until the panel has chosen nodes, then replace this process with dnsdist.

    If dnsdist rejects the new configuration, start it with the previous one.
    """
    while not (config := read_config(path)).backends:
        time.sleep(WAIT_SECONDS)
    front = Front(config)
    try:
        # An upgraded dnsdist may read another format, and the kernel may offer other features than at the last start.
        path = front.start_path()
    except BadBytes:
        path = front.conf_path
        if not path.exists():
            raise
        logging.exception("dnsdist starts with the configuration that was")
    os.execvp(config.dnsdist, [config.dnsdist, "--supervised", "--disable-syslog", "-C", str(path)])


def _run(config: FrontConfig) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if config.enrolled is not None:
        with FrontAgent(config) as agent:
            agent.serve(stop)
        return
    front = Front(config)
    front.write()
    front.run(stop)


def _status(front: Front) -> dict[str, object]:
    numbers = front.numbers()
    positions = front.positions()
    servers = [asdict(server) | {"position": str(positions.get(server.name) or "none")} for server in numbers.servers]
    return asdict(numbers) | {"servers": servers}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replication.front", description=__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"dnspanel-front {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("conf", "print the configuration for dnsdist"),
        ("write", "write the configuration if dnsdist accepts it"),
        ("run", "write the configuration, and update the rotation of nodes until stopped"),
        ("start", "run dnsdist with the written configuration"),
        ("status", "print the position and statistics of each backend"),
    ):
        commands.add_parser(name, help=text).add_argument("--config", type=Path, required=True)
    attaching = commands.add_parser("xdp", help="let dnsdist receive queries through AF_XDP; needs root")
    attaching.add_argument("--config", type=Path, required=True)
    attaching.add_argument("--generic", action="store_true", help="use the kernel even if the driver supports AF_XDP")
    joining = commands.add_parser("enroll", help="ask the panel to make this server a front")
    joining.add_argument("--panel", required=True, help="the panel's address")
    joining.add_argument("--code", required=True, help="the one-time code that the panel showed")
    joining.add_argument("--dir", type=Path, required=True, help="the directory for the front's identity")
    _add_join(commands.add_parser("join", help="make this server a front, with systemd units"))
    return parser


def _add_join(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--panel", required=True, help="the panel's address")
    parser.add_argument("--code", required=True, help="the one-time code that the panel showed")
    parser.add_argument("--listen", default=(), nargs="+", help="addresses as in the panel, for example 192.0.2.1:53")
    texts = {
        "panel_port": "the port at which the front listens",
        "control_port": "the port of dnsdist's console, on loopback",
        "api_port": "the port of dnsdist's web server, on loopback",
        "xdp_interface": "the network interface for AF_XDP, if available",
        "user": "the user of dnsdist and the front",
        "config": "the file with the front's configuration",
        "directory": "the directory for all other files",
        "units": "the directory of the systemd units",
        "dnsdist": "the path of dnsdist's program",
    }
    add_options(parser, Joining.__dataclass_fields__, texts)
    parser.add_argument("--no-start", action="store_true", help="write the files, but start nothing")


def _joining(options: argparse.Namespace) -> Joining:
    chosen = {field: getattr(options, field) for field in Joining.__dataclass_fields__}
    return Joining(**(chosen | {"listen": tuple(options.listen)}))


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
