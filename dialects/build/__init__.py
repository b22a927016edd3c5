"""Notations and types that every lowering builds with."""
