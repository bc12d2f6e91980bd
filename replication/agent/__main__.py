"""The agent's command line.

python -m replication.agent prepare  --config FILE              make the LMDB files, before PowerDNS starts
python -m replication.agent pdnsconf --config FILE              print the pdns.conf that fits
python -m replication.agent run      --config FILE              serve the panel until told to stop
python -m replication.agent enroll   --panel URL --code CODE --dir DIR
"""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from replication.agent.config import AgentConfig, BadConfig, read_config
from replication.agent.enroll import NotEnrolled, enroll
from replication.agent.node import AgentNode, open_store
from replication.agent.pdnsconf import PdnsSettings, render
from replication.errors import ReplicationError

logger = logging.getLogger("replication.agent")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 if it did what it says, 1 with one sentence on standard error if not."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        if options.command == "enroll":
            enroll(options.panel, options.code, options.dir, say=lambda words: print(words, flush=True))
            return 0
        config = read_config(options.config)
        if options.command == "prepare":
            prepare(config)
        elif options.command == "pdnsconf":
            sys.stdout.write(render(pdns_settings(config)))
        else:
            run(config)
    except (BadConfig, NotEnrolled, ReplicationError, OSError) as exc:
        print(f"{type(exc).__name__}: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def prepare(config: AgentConfig) -> None:
    """The LMDB files exist, such that PowerDNS takes them for its own. Harmless beside a running agent or PowerDNS."""
    open_store(config).close()
    print(f"{config.lmdb_path} is ready for PowerDNS, schema {config.identity.schema}.")


def run(config: AgentConfig) -> None:
    """Serve until SIGTERM or SIGINT. PowerDNS is never touched by start or stop."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with AgentNode(config) as node:
        node.serve(stop)


def pdns_settings(config: AgentConfig) -> PdnsSettings:
    """What PowerDNS has to know, as far as the agent's configuration says it."""
    return PdnsSettings(
        schema=config.identity.schema,
        lmdb_path=str(config.lmdb_path),
        socket_dir=str(config.control_socket.parent),
        addresses=(config.dns_address,),
        port=config.dns_port,
        cores=config.receiver_threads,
        api_port=config.api_port,
        api_key=config.api_key,
        map_size=config.map_size,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replication.agent", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("prepare", "make the LMDB files, before PowerDNS starts"),
        ("pdnsconf", "print the pdns.conf that fits this agent"),
        ("run", "serve the panel until told to stop"),
    ):
        commands.add_parser(name, help=words).add_argument("--config", type=Path, required=True)
    joining = commands.add_parser("enroll", help="ask the panel to make this server a node")
    joining.add_argument("--panel", required=True, help="the panel's address")
    joining.add_argument("--code", required=True, help="the one-time code that the panel showed")
    joining.add_argument("--dir", type=Path, required=True, help="where to keep the node's identity")
    return parser


if __name__ == "__main__":
    sys.exit(main())
