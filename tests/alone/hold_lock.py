"""Holds the agent's lock on a file until standard input ends."""

import sys
from pathlib import Path

from replication.agent.lock_file import take_lock

take_lock(Path(sys.argv[1]), "")
print(flush=True)
input()
