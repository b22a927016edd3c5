"""What the targets for GPUs of all vendors have in common."""
