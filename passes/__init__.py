"""Floor 4: transforms that stay in their dialect, named pipelines and the pass registry."""
