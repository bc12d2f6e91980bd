"""The front's command line.

python -m replication.front conf   --config FILE     print the dnsdist.conf that fits, each line with its reason
python -m replication.front write  --config FILE     write it, if dnsdist would start with it
python -m replication.front run    --config FILE     write it, and keep the rotation right until told to stop; a front
                                                     that enrolled serves the panel besides
python -m replication.front status --config FILE     print each backend's position and numbers as JSON
python -m replication.front enroll --panel URL --code CODE --dir DIR
"""

import argparse
import json
import logging
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from replication.agent.config import BadConfig
from replication.agent.enroll import NotEnrolled, enroll
from replication.agent.recent_log import RECENT_LOG
from replication.errors import ReplicationError
from replication.front.agent import FrontAgent
from replication.front.config import FrontConfig, read_config
from replication.front.front import Front


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 0 on success, 1 with a message on standard error otherwise."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger().addHandler(RECENT_LOG)
    try:
        if options.command == "enroll":
            enroll(options.panel, options.code, options.dir, say=_say)
            return 0
        config = read_config(options.config)
        if options.command == "run":
            _run(config)
        else:
            _once(config, options.command)
    except (BadConfig, NotEnrolled, ReplicationError, OSError) as exc:
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
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("conf", "print the dnsdist.conf that fits"),
        ("write", "write it, if dnsdist would start with it"),
        ("run", "write it, and keep the rotation right until told to stop"),
        ("status", "print each backend's position and numbers"),
    ):
        commands.add_parser(name, help=text).add_argument("--config", type=Path, required=True)
    joining = commands.add_parser("enroll", help="ask the panel to make this server a front")
    joining.add_argument("--panel", required=True, help="the panel's address")
    joining.add_argument("--code", required=True, help="the one-time code that the panel showed")
    joining.add_argument("--dir", type=Path, required=True, help="where to keep the front's identity")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
