"""What the README tells people to type works: its Python runs, its commands exist with these options."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from parasketch.cli import app

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (parasketch .*?)(?:\s+#.*)?$", README, re.MULTILINE)
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
QUESTION = "How do I become a good writer?"
TEXT_COMMANDS = [command for command in COMMANDS if QUESTION in command]


def test_the_readme_opens_with_the_two_commands() -> None:
    assert README.index("make demo") < README.index("make test") < README.index("##")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_parse(command: str) -> None:
    name, *words = shlex.split(command)[1:]
    known = typer.main.get_command(app).commands[name]
    options = {option for parameter in known.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("command", TEXT_COMMANDS)
def test_commands_on_a_text_run(command: str) -> None:
    name, *words = shlex.split(command)[1:]
    result = CliRunner().invoke(app, [name, *words])
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    if name == "paraphrase":
        wanted = int(words[words.index("-n") + 1]) if "-n" in words else 1
        assert len(lines) == len(set(lines)) == wanted
        assert not any(line.startswith(QUESTION) for line in lines), "a paraphrase is not its input"
    else:
        assert len(lines) > 3
        assert re.search(r"\d", "".join(lines[1:])), "codes are shown"


@pytest.mark.parametrize("snippet", SNIPPETS, ids=["paraphrase", "quantise"])
def test_python_runs(snippet: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(snippet, "README.md", "exec"), names)
    if "quantizer" in names:
        assert names["codes"].shape == (1000, 3)
        assert (names["coarse"] - names["vectors"]).norm() < names["vectors"].norm()
    else:
        first = names["p"](names["question"], n=5)
        assert len({paraphrase.text for paraphrase in first} - {names["question"]}) == 5
