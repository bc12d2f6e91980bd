"""Convert objects to JSON with the serializers that describe them in the OpenAPI document."""

from collections.abc import Callable
from datetime import datetime, time
from functools import cache
from operator import attrgetter
from typing import Any
from uuid import UUID

from rest_framework import serializers

from dnspanel.api.v2.http.representation import time_json

Reader = Callable[[Any], Any]
_PLAIN: dict[type, Reader] = {datetime: time_json, time: time.isoformat, UUID: str, tuple: list}


def row_json(shape: type[serializers.Serializer[Any]], row: object, **members: Any) -> dict[str, Any]:
    """Return an object as a dictionary with the serializer's fields, in their order.

    Fields that are not in `members` are read from the row's attributes of the same name. For a foreign key, this is the
    id of the other row. Raise TypeError for members that the serializer does not describe.
    """
    value = {}
    for name, read in _readers(shape, type(row)):  # type: ignore[arg-type]  # mypy: a type has no hash
        if name in members:
            value[name] = members.pop(name)
        else:
            found = read(row)
            convert = _PLAIN.get(type(found))
            value[name] = found if convert is None else convert(found)
    if members:
        raise TypeError(f"{shape.__name__} does not describe {', '.join(members)}.")
    return value


@cache
def _readers(shape: type[serializers.Serializer[Any]], kind: type) -> list[tuple[str, Reader]]:
    named = {"id": "pk"} if hasattr(kind, "pk") else {}
    return [
        (name, attrgetter(f"{name}_id" if hasattr(kind, f"{name}_id") else named.get(name, name)))
        for name, field in shape().fields.items()
        if not field.write_only
    ]
