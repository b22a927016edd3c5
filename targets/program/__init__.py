"""
The code that all targets share: the front half of a compilation, facts about programs, executables and their
serialization.
"""
