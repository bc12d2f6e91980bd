"""The errors of `dnspanel setup`: SetupFailed, and CommandFailed below it."""


class SetupFailed(Exception):
    """An error: an answer isn't valid, or a step can't be carried out. The text says why, and often what to do."""


class CommandFailed(SetupFailed):
    """An error: a management command failed. The text is the end of its output."""
