"""The panel's own processes: each says that it is at work, and periodic work says when it was last done."""
