"""The hooks of schemathesis for its tests of API v2: loaded by its `hooks` setting, not by pytest."""

from typing import Any

import schemathesis

# `test_schemathesis_v2` gives its caller ids from this one on.
FIRST_OWN_ID = 1_000_000


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Keep schemathesis from closing its own account or revoking its own token by id."""
    for name in ("user_id", "token_id"):
        value = str((case.path_parameters or {}).get(name, ""))
        if value.isdecimal() and FIRST_OWN_ID <= int(value) < FIRST_OWN_ID + 100 and case.method != "GET":
            case.path_parameters[name] = 1
