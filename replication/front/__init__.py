"""Run a stock dnsdist in front of nodes: its configuration, and the nodes that it is allowed to query.

A node is in rotation if its position, as proved over DNS, is new enough.
"""
