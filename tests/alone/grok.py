"""Run Debian's `dnsviz grok`.

It looks for the release of pygraphviz, for drawings, where that does not say it any more.
"""

import sys
import types

import pygraphviz

pygraphviz.release = sys.modules["pygraphviz.release"] = types.SimpleNamespace(version=pygraphviz.__version__)
from dnsviz.commands import grok  # noqa: E402  # once that is set

grok.main(["grok", *sys.argv[1:]])
