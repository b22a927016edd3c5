"""
Compare the output of two checkouts of xhlo at every stage, for the conformance programs and the examples.

    python test/compare_stages.py record . build/stages-new         # in each checkout, with its own Python
    XHLO_STAGES=jax python test/compare_stages.py record . build/stages-new     # only the programs of folders so named
    python test/compare_stages.py compare build/stages-old build/stages-new

`record` writes one file per program and stage, with standard output, standard error and the exit status of hlo-opt.
`compare` lists the files that differ and exits with status 1 if there are any.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

STAGES = {
    "hlo": [],
    "stablehlo": ["--stablehlo"],
    "fused": ["--fuse", "--fuse-remarks"],
    "unfused-linalg": ["--lower=linalg"],
    "linalg": ["--fuse", "--lower=linalg"],
    "loops": ["--fuse", "--lower=loops"],
    "llvm": ["--fuse", "--lower"],
    "llvm-text": ["--fuse", "--lower", "--emit=llvm"],
    "gpu-fused": ["--fuse", "--fuse-remarks", "--target=nvptx", "--chip=sm_90"],
    "gpu-loops": ["--fuse", "--lower=loops", "--target=nvptx", "--chip=sm_90"],
    "gpu-libraries": ["--fuse", "--lower=loops", "--target=nvptx", "--chip=sm_80", "--libraries=auto"],
    "gpu-nvvm": ["--fuse", "--lower=nvvm", "--target=nvptx", "--chip=sm_90"],
    "amd-rocdl": ["--fuse", "--lower=rocdl", "--target=amdgcn", "--chip=gfx90a"],
    "amd-llvm-text": ["--fuse", "--lower", "--target=amdgcn", "--chip=gfx1100", "--emit=llvm"],
    "gpu-llvm-text": ["--fuse", "--lower", "--target=nvptx", "--chip=sm_80", "--emit=llvm"],
}
"""The flags of hlo-opt that stop a program at each stage."""


def programs(root: Path) -> list[Path]:
    """The programs, in a fixed order."""
    conformance = root.parent / "shared" / "conformance"
    wanted = os.environ.get("XHLO_STAGES", "")
    folders = (conformance / "stablehlo", conformance / "jax", root / "examples")
    folders = [folder for folder in folders if wanted in folder.name]
    return [path for folder in folders for path in sorted(folder.rglob("*.mlir"))]


def record(root: Path, output: Path, source: Path) -> None:
    """Write the output of every stage of every program; each runs in a process of its own, forked from this one."""
    sys.path.insert(0, str(root))
    from xhlo.tools.hlo_opt import main

    output.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        main(["--fuse", "--lower", "--emit=llvm", str(root / "examples" / "softmax.mlir")])  # loads the modules once
    for path in programs(source):
        for stage, flags in STAGES.items():
            file = output / f"{path.parent.name}-{path.stem}.{stage}"
            if os.fork() == 0:
                with file.open("w", encoding="utf-8") as stream:
                    os.dup2(stream.fileno(), 1)
                    os.dup2(stream.fileno(), 2)
                    os.chdir("/tmp")
                    status = main([*flags, "--reproducer=/dev/null", str(path)])
                    sys.stdout.flush()
                    sys.stderr.flush()
                    stream.write(f"\nexit status {status}\n")
                os._exit(0)
            os.wait()


def _lines(path: Path) -> list[str]:
    """The lines of an output without those of a traceback, which name the checkout's files."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith('  File "')]


def compare(old: Path, new: Path) -> int:
    """Print the files that differ. Return the exit status."""
    names = sorted(path.name for path in new.iterdir())  # the old ones may be more
    missing = [name for name in names if not (old / name).exists()]
    different = [name for name in names if name not in missing and _lines(old / name) != _lines(new / name)]
    for name in different:
        print(f"differs: {name}")
    for name in missing:
        print(f"in one only: {name}")
    print(f"{len(names)} outputs compared, {len(different) + len(missing)} differ")
    return 1 if different or missing else 0


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    if command == "record":
        root, output = (Path(path).resolve() for path in paths[:2])
        record(root, output, Path(paths[2]).resolve() if len(paths) > 2 else root)
    else:
        sys.exit(compare(*map(Path, paths)))
