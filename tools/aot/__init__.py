"""The command line and the work of hlo-aot."""
