"""The dialect `linalg_ext`: structured operations that linalg lacks."""
