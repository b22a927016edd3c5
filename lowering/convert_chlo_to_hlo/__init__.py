"""The conversion `convert-chlo-to-hlo`, one file per family of chlo operations."""
