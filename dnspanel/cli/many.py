"""Changes of many records or zones alike: the one act that options say, and what would become of the rest as text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output


def only_act(acts: Sequence[dict[str, Any]], options: str) -> dict[str, Any]:
    """Return the act, if there is one. Raise UsageError, which names these options, for none and for several."""
    if len(acts) != 1:
        raise click.UsageError(f"Give one action: {options}")
    return acts[0]


def tell_others(preview: Mapping[str, Any]) -> None:
    """Tell how many more would change than the examples that were shown."""
    if preview["changed"] > len(preview["examples"]):
        output.tell(f"… and {preview['changed'] - len(preview['examples'])} more.")


def tell_refusals(outcome: Mapping[str, Any], label: Callable[[Mapping[str, Any]], str]) -> None:
    """Tell what stays as it is and why, of many the first."""
    for refusal in outcome["refusals"]:
        output.tell(f"Skipped: {label(refusal)}: {refusal['reason']}")
    if outcome["refused"] > len(outcome["refusals"]):
        output.tell(f"… and {outcome['refused'] - len(outcome['refusals'])} more skipped.")
