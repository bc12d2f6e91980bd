"""The side panel: one field for each part of a value."""
