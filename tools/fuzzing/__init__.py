"""Random programs, what must hold of them, and how a failing one is made small: behind hlo-fuzz."""
