"""Fits that operators ask for, done outside of the web app, so that nobody who answers waits for them."""

from fairwise.loading import require

require("study", "A study")
