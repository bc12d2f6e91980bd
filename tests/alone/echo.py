"""Connect to a listener at our end, and print how long that took.

A refusal is an answer too: it has made the way twice.
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
