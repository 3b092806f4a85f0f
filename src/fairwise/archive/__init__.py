"""What leaves and comes back as a whole: bundles and backups."""

from fairwise.extras import require

require("study", "A study")
