"""The dialect `linalg_ext`: structured operations missing from linalg."""
