"""The pass registry, named pipelines, the pass manager, timing and reproducers."""
