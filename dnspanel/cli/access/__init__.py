"""Commands about people, tokens, and those who are notified or asked."""
