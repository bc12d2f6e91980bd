"""Run a stock dnsdist in front of nodes: write its configuration, and choose the nodes that it can query.

A node is in rotation if its position, as proved over DNS, is new enough.
"""
