"""The pass `tile-loops`: recurrences of many independent rows run tile by tile, with their loop inside."""
