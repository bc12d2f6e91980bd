"""The panel's Celery application with one more task, which records its runs in a file."""

import os
import time

from dnspanel.celery import app


@app.task(name="nap", ignore_result=True)
def nap(text):
    time.sleep(0.2)
    with open(os.environ["NAPS_FILE"], "a") as file:
        file.write(text + "\n")
