"""Sums of the columns of a factor, and of a result, in the kernel of a matrix product."""
