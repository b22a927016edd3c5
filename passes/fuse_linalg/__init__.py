"""The pass `fuse-linalg`: fuses producers into the bodies of their consumers, inside one kernel."""
