"""The panel's settings, which write down the command of each process that loads them; a fork does not load them."""

import os
import sys
from pathlib import Path

from dnspanel.settings import *  # noqa: F403

with Path(os.environ["LOADED_BY"]).open("a") as file:
    file.write(" ".join(sys.argv) + "\n")
