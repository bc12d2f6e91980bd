"""Commands for zones and records: search, change, request approval, publish, undo, import and export."""
