"""The common parts of the targets for GPUs of all vendors."""
