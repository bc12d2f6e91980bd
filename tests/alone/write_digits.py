"""Writes digits into a file, each with a separate call, after a file next to it allows it."""

import os
import sys
import time

file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while not os.path.exists(sys.argv[1] + ".go"):
    time.sleep(0.01)
for digit in b"123456789":
    os.write(file, bytes((digit,)))
time.sleep(60)  # until it is killed
