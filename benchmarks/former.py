"""The sources and models of a former commit, to be measured beside today's in one run."""

import io
import subprocess
import tarfile
from pathlib import Path

_HERE = Path(__file__).resolve().parents[1]


def unpack_former(commit: str, folder: Path) -> None:
    """Put `src` of a commit into a folder."""
    done = subprocess.run(["git", "archive", commit, "src"], cwd=_HERE, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"the commit {commit[:7]} is not here: run this in a clone with its whole history")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
