"""A stock dnsdist in front of nodes: its configuration, and the nodes that it is allowed to ask.

A node is in rotation if its position, as proved over DNS, is new enough.
"""
