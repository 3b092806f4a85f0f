"""Database of a study: participants, their pairs and answers. It knows no mathematics and no pages."""

from fairwise.loading import require

require("study", "A study")
