#!/usr/bin/env python
"""Run a management command of the panel."""

import os
import sys

from django.core.management import execute_from_command_line

from replication.call_room import with_room

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")
    with_room(execute_from_command_line)(sys.argv)
