"""Describe view methods for the OpenAPI document."""

from collections.abc import Callable, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.fields import empty


def api_operation(
    operation_id: str, responses: Any, *, request: Any = empty, parameters: Sequence[OpenApiParameter] = ()
) -> Callable[[Any], Any]:
    """Return a decorator that documents a view method: its operation id, responses, request body and parameters."""
    return extend_schema(operation_id, parameters or None, request, responses)
