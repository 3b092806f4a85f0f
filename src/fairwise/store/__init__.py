"""What is kept: participants, the pairs they are shown, their answers. Knows no mathematics and no pages."""

from fairwise.loading import require

require("study", "A study")
