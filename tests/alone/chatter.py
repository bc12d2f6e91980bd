"""The panel's Celery application with two more tasks: one writes a log line and may enqueue itself, the other fails."""

import logging

from dnspanel.celery import app

logger = logging.getLogger("dnspanel.chatter")


@app.task(name="chatter", ignore_result=True)
def chatter(text, times):
    logger.info("said %s %d", text, times)
    if times:
        chatter.apply_async((text, times - 1), queue="chatter")


@app.task(name="stumble", ignore_result=True)
def stumble():
    raise ValueError("stumbled")
