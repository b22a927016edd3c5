"""Notations and types shared by every lowering."""
