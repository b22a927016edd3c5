"""The conversion `convert-chlo-to-hlo`, a file per family of chlo operations."""
