"""The parts of hlo-fuzz: random programs, their checks, and reduction of a failing program."""
