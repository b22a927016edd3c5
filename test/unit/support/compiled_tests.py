"""
A pytest plugin: in the files of tests that COMPILED_TESTS names, xhlo.numpy and clusters compile every program, even one
of a single operation. So one process runs some files as users' code runs and others compiled.
"""

from __future__ import annotations

import os

import pytest

from xhlo.frontends.clusters.clusters import SETTINGS

AS_USERS = dict(vars(SETTINGS))
COMPILED = {"compile_after": 1, "min_operations": 1, "must_gain": False}


def pytest_runtest_setup(item: pytest.Item) -> None:
    compiled = item.path.stem.removeprefix("test_") in os.environ["COMPILED_TESTS"].split()
    os.environ["XHLO_EAGER"] = "compile" if compiled else ""
    for name, value in {**AS_USERS, **(COMPILED if compiled else {})}.items():
        setattr(SETTINGS, name, value)
