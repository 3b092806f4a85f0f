"""What Fairwise must reach, measured. ``python -m benchmarks`` runs everything and writes ``docs/benchmarks.md``."""
