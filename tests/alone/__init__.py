"""Programs that tests start as separate processes: `python -m tests.alone.NAME`."""
