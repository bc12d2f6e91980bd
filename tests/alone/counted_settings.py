"""The panel's settings, which record the command of each process that loads them. Forked processes don't load them."""

import os
import sys
from pathlib import Path

from dnspanel.settings import *  # noqa: F403

with Path(os.environ["LOADED_BY"]).open("a") as file:
    file.write(" ".join(sys.argv) + "\n")
