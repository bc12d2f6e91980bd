"""The agent on a node: applies segments beside a live pdns_server, purges, asks it by DNS, reports."""
