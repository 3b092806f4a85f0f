"""A study as an operator describes it: settings, texts, cards, designs. Knows nothing of learning or HTTP."""

from fairwise.loading import require

require("study", "A study")
