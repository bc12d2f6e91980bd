"""Functions that tests run inside a stack, in the panel's environment, by `tests.stack.run_inside`.

Arguments and return values are JSON values.
"""
