"""Users' files: CSV, Parquet, people and ids, with where each row is; files written whole or not at all; JSON."""
