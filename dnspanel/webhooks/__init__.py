"""Webhooks (signed events that are sent to other servers until they arrive), and publish hooks (asked before
publishing).
"""
