"""A stock dnsdist in front of nodes: its configuration, and its rotation, which depends on the nodes' answers over
DNS.
"""
