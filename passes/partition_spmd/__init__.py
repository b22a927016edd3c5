"""The pass `partition-spmd`: the program of one device, from shardings."""
