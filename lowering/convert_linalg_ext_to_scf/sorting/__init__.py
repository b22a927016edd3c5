"""Sorting of rows by integer keys: radix sort, merge sort and networks in vectors."""
