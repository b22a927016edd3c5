"""The pass `partition-spmd`: one program for each device, from shardings."""
