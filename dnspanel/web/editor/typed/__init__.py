"""The side panel of the editor, with one field for each part of a value."""
