"""The sdy dialect, shardings as attributes, and tilings."""
