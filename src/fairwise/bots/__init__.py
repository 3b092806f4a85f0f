"""Simulated people who take part in a running study over HTTP, as a browser would."""
