"""Floor 7: the command lines hlo-opt and hlo-run."""
