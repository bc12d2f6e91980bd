"""A stock dnsdist in front of nodes: its configuration, and which nodes it may ask, by what they prove over DNS."""
