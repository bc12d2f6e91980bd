"""Connects to a listener on the test's end of a link, and prints the seconds that this took.

A refused connection counts, too, because it also is a round trip.
"""

import os
import socket
import sys
import time

sock = socket.socket()
sock.settimeout(2)
began = time.monotonic()
try:
    sock.connect((os.environ["OURS"], 9))
except ConnectionRefusedError:
    print(time.monotonic() - began)
except OSError:
    sys.exit(1)
