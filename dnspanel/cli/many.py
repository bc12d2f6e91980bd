"""Helpers for commands that change many records or zones: require a single action, and print results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output


def only_act(acts: Sequence[dict[str, Any]], options: str) -> dict[str, Any]:
    """Return the only action. Unless there is exactly one, raise UsageError with `options` in its message."""
    if len(acts) != 1:
        raise click.UsageError(f"Give one action: {options}")
    return acts[0]


def tell_others(preview: Mapping[str, Any]) -> None:
    """Print the number of changes that the preview does not show. Print nothing if it shows all."""
    if preview["changed"] > len(preview["examples"]):
        output.tell(f"… and {preview['changed'] - len(preview['examples'])} more.")


def tell_refusals(outcome: Mapping[str, Any], label: Callable[[Mapping[str, Any]], str]) -> None:
    """Print the first skipped items, each with its reason, and the number of remaining ones."""
    for refusal in outcome["refusals"]:
        output.tell(f"Skipped: {label(refusal)}: {refusal['reason']}")
    if outcome["refused"] > len(outcome["refusals"]):
        output.tell(f"… and {outcome['refused'] - len(outcome['refusals'])} more skipped.")
