"""Write a sign of life, print this process's number and children, and sleep."""

import os
import pathlib
import time

from dnspanel import watchdog

watchdog.write_life_sign()
print(os.getpid(), pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(), flush=True)
time.sleep(1000)  # until it is killed
