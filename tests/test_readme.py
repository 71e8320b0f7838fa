"""What the README tells people to type works: its Python runs, its commands exist with these options."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from parasketch.cli import app
from parasketch.generate.pretrained import shipped_models

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
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    assert "writer" in result.output.lower()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=["paraphrase", "quantise"])
def test_python_runs(snippet: str) -> None:
    assert shipped_models()
    exec(compile(snippet, "README.md", "exec"), {})
