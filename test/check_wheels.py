"""
Check that every platform finds wheels of what xhlo's core needs: `make wheels`, by hand, because it asks the registry.

Resolves the `dependencies` of pyproject.toml for each platform and version of Python with pip, without installing
anything, and prints the versions. Exits with status 1 if a platform lacks a wheel, whatever the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PLATFORMS = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"),
    "Linux AArch64": ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"),
    "macOS ARM": ("macosx_14_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
    "macOS Intel": ("macosx_14_0_x86_64", "macosx_12_0_x86_64", "macosx_10_15_x86_64", "macosx_10_9_x86_64"),
    "Windows": ("win_amd64",),
}
LACKS = {"macOS Intel": "llvmlite"}
"""The package that a platform goes without; its marker in pyproject.toml says so too, but pip reads that for this machine."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def resolve(requirements: list[str], tags: tuple[str, ...], python: str) -> tuple[dict[str, str], str]:
    """The versions that pip would install, by name; or none, and pip's last error."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--only-binary=:all:", "--target", folder, "--report", "-"]
        command += ["--python-version", python, *(f"--platform={tag}" for tag in tags), *requirements]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return {}, errors[-1] if errors else done.stderr.strip()[-200:]
    found = (each["metadata"] for each in json.loads(done.stdout)["install"])
    return {each["name"]: each["version"] for each in found}, ""


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    missing = 0
    for name, tags in PLATFORMS.items():
        lacking = LACKS.get(name)
        wanted = [each.split(";")[0] for each in project["dependencies"] if not lacking or not each.startswith(lacking)]
        for python in PYTHONS:
            versions, error = resolve(wanted, tags, python)
            missing += not versions
            shown = error or ", ".join(f"{package} {version}" for package, version in sorted(versions.items()))
            print(f"{name:14} {python}  {shown}{f', without {lacking}' if lacking else ''}", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
