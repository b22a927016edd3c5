"""Products whose vectors hold neighbours of a factor that is not shared by them, as in depthwise convolutions."""
