"""What schemathesis has to be told before it tests: loaded by its `hooks` setting, not by pytest."""

from typing import Any

import schemathesis


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """In Swagger 2 an operation states its media types for all answers, so that 204 would have to have one too."""
    if response.status_code == 204 and not response.content:
        response.headers.setdefault("content-type", ["application/json"])
