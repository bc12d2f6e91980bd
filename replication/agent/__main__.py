"""The agent's command line.

python -m replication.agent prepare  --config FILE              make the LMDB files, before PowerDNS starts
python -m replication.agent pdnsconf --config FILE              print the pdns.conf for this configuration
python -m replication.agent run      --config FILE              serve the panel until stopped
python -m replication.agent enroll   --panel URL --code CODE --dir DIR
python -m replication.agent join     --panel URL --code CODE    enroll, configure, and write the systemd units
"""

import argparse
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from replication import __version__, log_lines
from replication.agent.agent_config import AgentConfig, BadConfig, read_config
from replication.agent.joining.ask_to_enroll import NotEnrolled, enroll
from replication.agent.joining.install_agent import CannotJoin, add_options
from replication.agent.joining.join_node import Joining, join, start_units
from replication.agent.node import AgentNode
from replication.agent.powerdns.powerdns_computed_types import pdns_conf_of
from replication.agent.recent_log import RECENT_LOG
from replication.agent.updates.rebuild_node import open_store
from replication.errors import ReplicationError
from replication.garbage import leave_out_what_is_loaded

# The time after which a waiting thread can run instead of one that holds LMDB's write lock (Python's default: 5 ms).
SWITCH_SECONDS = 0.001

logger = logging.getLogger("replication.agent")


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Return 0 on success and 130 after Ctrl-C. Print expected errors and return 1."""
    options = _parser().parse_args(arguments)
    log_lines.write_to_stderr(os.environ.get("AGENT_LOG_FORMAT", log_lines.TEXT))
    logging.getLogger().addHandler(RECENT_LOG)
    try:
        if options.command == "enroll":
            enroll(options.panel, options.code, options.dir, say=_say)
            return 0
        if options.command == "join":
            joining = Joining(**{field: getattr(options, field) for field in Joining.__dataclass_fields__})
            join(joining, render_pdns_conf=_pdns_conf, say=_say)
            if not options.no_start:
                start_units(_say, (joining.pdns_unit, joining.agent_unit))
            return 0
        config = read_config(options.config)
        if options.command == "prepare":
            prepare(config)
        elif options.command == "pdnsconf":
            sys.stdout.write(_pdns_conf(config))
        else:
            run(config)
    except (BadConfig, CannotJoin, NotEnrolled, ReplicationError, OSError) as exc:
        print(f"{type(exc).__name__}: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def prepare(config: AgentConfig) -> None:
    """Create the LMDB files in the form that PowerDNS accepts. This is safe while an agent or PowerDNS is running."""
    open_store(config, config.identity.schema).close()
    print(f"{config.lmdb_path} is ready for PowerDNS, schema {config.identity.schema}.")


def run(config: AgentConfig) -> None:
    """Run the agent until SIGTERM or SIGINT. Starting or stopping the agent doesn't affect PowerDNS.

    If the LMDB files have been replaced (`rebuild_node`), restart in the same process with the new files.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    leave_out_what_is_loaded()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with AgentNode(config) as node:
        node.serve(stop)
    if node.starts_anew and not stop.is_set():
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _pdns_conf(config: AgentConfig) -> str:
    return pdns_conf_of(config, schema=config.identity.schema)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replication.agent", description=__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"dnspanel-agent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("prepare", "create the LMDB files before PowerDNS starts"),
        ("pdnsconf", "print the pdns.conf for this agent"),
        ("run", "run the agent until it is stopped"),
    ):
        commands.add_parser(name, help=text).add_argument("--config", type=Path, required=True)
    joining = commands.add_parser("enroll", help="ask the panel to make this server a node")
    joining.add_argument("--panel", required=True, help="the panel's address")
    joining.add_argument("--code", required=True, help="the one-time code that the panel showed")
    joining.add_argument("--dir", type=Path, required=True, help="the directory for the node's identity")
    _add_join(commands.add_parser("join", help="make this server a node, with systemd units"))
    return parser


def _add_join(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--panel", required=True, help="the panel's address")
    parser.add_argument("--code", required=True, help="the one-time code that the panel showed")
    # The panel knows these three values; typed values must be the same.
    parser.add_argument("--dns-address", default="", help="IP address of PowerDNS, as in the panel")
    texts = {
        "dns_port": "the port of PowerDNS",
        "listen_port": "the port at which the agent listens",
        "api_port": "the port of PowerDNS's web server, on loopback",
        "user": "the user of PowerDNS and the agent",
        "config": "the file with the agent's configuration",
        "directory": "the directory for all other files",
        "socket_directory": "the directory of PowerDNS's control socket",
        "units": "the directory of the systemd units",
        "agent_unit": "the name of the agent's unit",
        "pdns_unit": "the name of PowerDNS's unit, for a second PowerDNS such as pdns@canary.service",
        "pdns_server": "the path of PowerDNS's program",
    }
    add_options(parser, Joining.__dataclass_fields__, texts)
    parser.add_argument(
        "--without-caches", dest="caches", action="store_false", help="run PowerDNS without caches, as on the canary"
    )
    parser.add_argument("--no-start", action="store_true", help="write the files, but start nothing")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
