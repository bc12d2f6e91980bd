"""The published tests that this project started from, repeated: `./dev bench published`.

One module for each of them; `result` is what each returns, `bench_published` runs and prints them.
"""
