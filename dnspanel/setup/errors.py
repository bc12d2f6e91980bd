"""The errors of `dnspanel setup`: SetupFailed, with CommandFailed and BadAnswer below it."""


class SetupFailed(Exception):
    """An error: a step cannot be carried out. The text says why, and often what to do."""


class CommandFailed(SetupFailed):
    """An error: a management command failed. The text is the end of its output."""


class BadAnswer(SetupFailed):
    """An error: an answer isn't valid, or the file with answers can't be read. The text names the reason."""
