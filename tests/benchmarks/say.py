"""The output of a benchmark, written at once to a terminal or file."""

import sys


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
