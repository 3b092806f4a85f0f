"""A study as an operator describes it: settings, texts, cards, designs. Knows judgments, nothing of learning or HTTP."""
