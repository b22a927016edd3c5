"""The rows of the speed table on xhlo and on other systems, each in a process of its own; ../bench.py drives them."""
