"""The editor's side panel, with one field for each part of a value."""
