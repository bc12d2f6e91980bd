"""The published performance tests that motivated this project, repeated: `./dev bench published`.

Each test is a module that returns a `result`. `bench_published` runs the tests and prints the results.
"""
