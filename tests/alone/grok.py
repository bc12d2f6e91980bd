"""Runs Debian's `dnsviz grok`.

It imports pygraphviz's release module for drawings. This program supplies that module, which pygraphviz no longer has.
"""

import sys
import types

import pygraphviz

pygraphviz.release = sys.modules["pygraphviz.release"] = types.SimpleNamespace(version=pygraphviz.__version__)
from dnsviz.commands import grok  # noqa: E402  # once that is set

grok.main(["grok", *sys.argv[1:]])
