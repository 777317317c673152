"""Benchmarks: one module per claim. `python -m benchmarks NAME [--json]`; each exits non-zero below its bar."""
