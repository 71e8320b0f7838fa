# Two commands set everything up on a machine that has Python (3.11 or newer) and nothing else:
#   make demo    install, fetch the base language model, then paraphrase
#   make test    install, then run the tests
#   make stress  install, then break things on purpose, for minutes
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo test stress browser lint clean

setup: $(VENV)/.installed

# One stamp file: installing again is only needed when the requirements change.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# Paraphrasing needs a part of that only, and somebody is waiting.
$(VENV)/.paraphrases: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

demo: $(VENV)/.paraphrases
	$(BIN)/parasketch get everyday
	$(BIN)/parasketch demo

test: setup
	$(BIN)/python -m pytest

stress: setup
	PYTHONPATH=tests $(BIN)/python -m stress

# The tests of the web pages need a browser, and are skipped without one; on Debian and Ubuntu, as root:
browser:
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium chromium-driver

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
