"""Functions that tests run inside a stack, with the panel's environment: `tests.stack.run_inside`.

Arguments and what a function returns travel as JSON.
"""
