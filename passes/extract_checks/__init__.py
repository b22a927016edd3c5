"""The program's own checks as results of its entry."""
