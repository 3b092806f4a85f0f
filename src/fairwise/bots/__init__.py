"""Simulated people who take part in a running study over HTTP, as a browser would."""

from fairwise.loading import require

require("bots", "A panel of simulated participants")
