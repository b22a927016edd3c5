"""The folders of this checkout, and the one beside it that programs from outside are in."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
"""The folder of this file: the modules that test files share, which processes of their own import from here."""
ROOT = SUPPORT.parents[2]
EXAMPLES = ROOT / "examples"
LIT = ROOT / "test" / "lit"
SHARED = ROOT.parent / "shared"
