"""Commands about nodes, and about name servers elsewhere."""
