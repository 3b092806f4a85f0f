"""What leaves and comes back as a whole: bundles and backups."""
