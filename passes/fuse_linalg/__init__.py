"""The pass `fuse-linalg`: producers into the bodies of their consumers, inside one kernel."""
