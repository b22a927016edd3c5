"""Floor 6: the command lines hlo-opt and hlo-run."""
