"""The base class for errors about invalid fields, used by all apps. Pure."""

from collections.abc import Mapping, Sequence

from replication.message_texts import joined

INVALID = "invalid"
NOT_FOUND = "not-found"
NAME_TAKEN = "name-taken"
ADDRESS_REFUSED = "address-refused"


class CodedMessage(str):
    """A field's error message with an error code for programs that use API v2."""

    code: str

    def __new__(cls, message: str, code: str) -> "CodedMessage":
        coded = super().__new__(cls, message)
        coded.code = code
        return coded


def not_found(message: str) -> CodedMessage:
    """Return the message for a field whose object does not exist or is not visible to the user."""
    return CodedMessage(message, NOT_FOUND)


def name_taken(message: str) -> CodedMessage:
    """Return the message for a name that another object already has."""
    return CodedMessage(message, NAME_TAKEN)


def address_refused(exc: Exception) -> CodedMessage:
    """Return the coded message for an address that can't be found, or that the panel is not allowed to contact."""
    return CodedMessage(str(exc), ADDRESS_REFUSED)


def message_of(exc: Exception) -> str:
    """Return an error's message. A coded message keeps its code, which `str` would drop."""
    message = exc.args[0] if exc.args else ""
    return message if isinstance(message, CodedMessage) else str(exc)


def code_of_message(message: object) -> str:
    """Return the code of an error message, or `invalid` if the message has no code."""
    return message.code if isinstance(message, CodedMessage) else INVALID


class FieldsRefused(Exception):
    """Some fields are invalid. `fields` maps each field to its errors. The exception's message joins all errors."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))
