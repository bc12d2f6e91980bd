"""Why something cannot be as its fields say: for the errors of each app, and the faces that show them. Pure."""


class FieldsRefused(Exception):
    """`fields` maps each field to what is wrong with it; the message is all of that."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))
