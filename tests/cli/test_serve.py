"""`serve` and `serve-key` from the command line."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from parasketch.serve.clients import Keys

PROGRAM = "from parasketch.cli import main; main()"


def test_a_missing_extra_is_named() -> None:
    hidden = f"import sys; sys.modules['fastapi'] = None; {PROGRAM}"
    found = subprocess.run([sys.executable, "-c", hidden, "serve"], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "pip install 'parasketch[serve]'" in " ".join(found.stderr.split())


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_key_is_made_and_the_service_answers_and_ends(tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    command = [sys.executable, "-c", PROGRAM, "serve-key", "alice", "--keys", str(keys)]
    key = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Keys.read(keys).name_of(key) == "alice"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-c", PROGRAM, "serve", "--model", "questions", "--port", str(port)]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (refused.returncode, "try another --port" in " ".join(refused.stderr.split())) == (2, True)
    process = subprocess.Popen([*command, "--keys", str(keys)], stderr=subprocess.DEVNULL)
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/sketch",
            json.dumps({"text": "How heavy is a moose?"}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        for _ in range(1200):
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    assert len(json.load(response)["sketches"][0]) == 3
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
    finally:
        os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) == 0
