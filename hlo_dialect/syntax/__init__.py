"""Parsing and printing of the pretty forms that families of operations share."""
