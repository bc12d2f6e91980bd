"""The base class of errors about invalid fields, used by all apps. Pure."""


class FieldsRefused(Exception):
    """Some fields are invalid. `fields` maps each field to its errors. The exception's message joins all of them."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))
