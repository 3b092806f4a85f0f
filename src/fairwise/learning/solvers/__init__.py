"""From a problem to a solution: column generation over a linear programme, and the paper's no-regret dynamics."""
