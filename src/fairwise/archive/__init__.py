"""What leaves and comes back as a whole: bundles and backups."""

from fairwise.loading import require

require("study", "A study")
