"""A publisher that is killed at a chosen point."""

import os
import signal
from typing import Any

from django.conf import settings
from django.utils import timezone

from dnspanel.publish import signals
from dnspanel.publish.encoding import encode
from replication.store.store import Store


def encode_and_die(directory: str, point: str) -> Any:
    """Encode publications, and kill this process at a point.

    Wraps a function so that the process kills itself before or after the call.
    """
    settings.PUBLISHER_DIR = directory + "/publisher"
    settings.STORAGES["segments"]["OPTIONS"]["location"] = directory + "/segments"

    def die(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)

    def then_die(function):
        return lambda *args, **kwargs: die(function(*args, **kwargs))

    if point == "before the object":
        encode.put_object = die
    if point == "after the object":
        encode.put_object = then_die(encode.put_object)
    if point == "after the row":
        signals.segment_sealed.send_robust = die
    if point == "before apply":
        Store.apply = die
    if point == "before the drop":
        encode.drop_prepared = die
    if point == "after apply":
        Store.apply = then_die(Store.apply)
    encode.encode_step(now=timezone.now())
    return "not killed"
