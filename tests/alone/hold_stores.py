"""Starts a stack's stores, prints their process ids, and keeps them running until standard input ends."""

import sys
from pathlib import Path

from dnspanel.demo.stack import Stack, StackShape

with Stack(Path(sys.argv[1]), StackShape(stores_only=True, durable=False)) as stack:
    print(stack.supervisor.pid("postgres"), stack.supervisor.pid("redis"), flush=True)
    sys.stdin.read()
