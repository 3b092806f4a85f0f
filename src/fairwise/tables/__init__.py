"""Users' files: CSV and Parquet with where each row is, people, ids; files written whole or not at all; JSON for programs."""
