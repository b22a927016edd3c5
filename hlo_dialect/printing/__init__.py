"""Modules as text."""

from .printer import HloPrinter as HloPrinter
from .printer import print_module as print_module
from .printer import print_operation as print_operation
