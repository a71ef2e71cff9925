# Every command makes its own environment first; only git, make and Python >= 3.11 are assumed.
PYTHON ?= python3
PY     := .venv/bin/python
STAMP  := .venv/.installed
FILES  ?= $(sort $(wildcard book/*.ipynb))
SYSTEM ?=
# The committed book is that of the default system, whatever the caller's shell says.
unexport TPBOOK_SYSTEM

.PHONY: help book test execute rerun lint env lock clean
.DEFAULT_GOAL := help

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | awk -F'|' '{printf "make %-9s %s\n", $$1, $$2}'

book: env ## render the site into _build/html (warnings are errors, nothing is executed)
	.venv/bin/jupyter-book build . --all -W -n --keep-going -q
	@test -s _build/html/index.html || { echo "make book: _build/html/index.html is missing" >&2; exit 1; }
	@echo "make book: open _build/html/index.html"

test: env ## re-check everything: lint, laws, and every stored figure and number
	$(PY) -m pytest -n 2 --dist loadfile --nbval --nbval-current-env --nbval-cell-timeout 120 tests $(FILES)

execute: env ## run chapters again and store them in canonical form [FILES="book/x.ipynb"]
	$(PY) -m tpbook.book.execute $(FILES)

rerun: env ## run sections 3 and 4 for another system [SYSTEM=quad-a100-sxm, or a folder]
	@$(PY) -m tpbook.book.rerun "$(SYSTEM)"

lint: env ## refuse what the re-check cannot see [FILES="book/x.ipynb"]
	$(PY) -m tpbook.book.lint $(FILES)

env: $(STAMP) ## make the environment from the hash-pinned lock

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": set PYTHON=")'
	test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(PY) -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(PY) -m pip check
	@# The font cache, once: matplotlib would announce it on stderr in the first chapter that runs.
	$(PY) -c 'import matplotlib.font_manager'
	@touch $@

lock: ## resolve the pins of requirements.lock again (needs uv on the PATH or in the environment)
	$(PY) -m uv --version >/dev/null 2>&1 || $(PY) -m pip install -qq uv
	$(PY) -m uv pip compile pyproject.toml --extra test --universal --python-version 3.11 \
	  --fork-strategy fewest --generate-hashes --no-emit-index-url --no-annotate --no-header \
	  --upgrade --quiet --output-file requirements.lock

clean: ## remove the environment and the site
	rm -rf .venv _build .pytest_cache .hypothesis
