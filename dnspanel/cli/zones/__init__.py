"""Commands about zones and records: searching, changing, requesting, publishing, undoing, importing and exporting."""
