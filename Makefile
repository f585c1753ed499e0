# The project's commands. They run in .venv, which the first one makes.

PYTHON ?= python3
CONSTRAINTS ?= -c constraints.txt
VENV := .venv
PY := $(VENV)/bin/python
APP_SET := requirements.txt requirements.extra.txt
DEV_SET := $(APP_SET) requirements.dev.txt

# How many processes test: as many as there are processors, from 2 (some tests wait) to 8 (each takes up to 1 GB of memory).
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min(max(os.cpu_count() or 2, 2), 8))')

# Compiled modules are shared by all processes of a run, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE

PYTEST := $(PY) -m pytest -n $(PROCESSES) --dist worksteal

# What computes the same without the compiler: make test need not wait for kernels there, and make test-all runs it compiled as well.
INTERPRETED := tests/autograd tests/core tests/language tests/models tests/nn tests/optim tests/torch_face tests/distributed/test_torch_distributed.py tests/distributed/test_torch_multiprocessing.py

# The files with properties: make test draws fewer examples of each, the same every time, and make test-all as many as students do.
SAMPLED = $(shell grep -rl --include='test_*.py' --exclude-dir=exhaustive --exclude-dir=distributed hypothesis tests)

# What make test measures and make check compares with the budget.
RECORD := .pytest_cache/processor_time.json
MEASURED := $(PYTEST) -p tests.processor_time --processor-time $(RECORD) --hypothesis-profile course-quick

.PHONY: help app workspace test test-all test-distributed test-cuda-sim check check-cuda docs prove bench format clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-16s %s\n", $$1, $$2}'

app: $(VENV)/.app  ## Serve the app and open it in the browser
	$(PY) -m streamlit run project/app.py

workspace: $(VENV)/.dev  ## Make a workspace without the solutions, to study alone: ../my-minitorch, or FOLDER=another
	$(PY) -m course.staff handout --modules 0-4 "$(or $(FOLDER),../my-minitorch)"

test: $(VENV)/.dev  ## Test every module and every command, in a few minutes; with TESTS=tests/test_scalar.py a part
	@rm -f $(RECORD)
	$(if $(TESTS),,NUMBA_DISABLE_JIT=1 $(MEASURED) $(INTERPRETED))
	$(if $(TESTS),$(PYTEST) $(TESTS),$(MEASURED) $(addprefix --ignore=,$(INTERPRETED)))

test-all: test  ## Run the exhaustive tests as well: every dtype and layout, all examples, attacks, every stub, the browser; the proofs
	$(PYTEST) $(if $(TESTS),$(TESTS:tests/%=tests/exhaustive/%),tests/exhaustive $(INTERPRETED) $(SAMPLED))
	$(PY) -m course.staff prove --check

check: $(VENV)/.dev  ## Check style, types, the layers of the package, and the processor time that the last make test took
	@status=0; \
	$(VENV)/bin/ruff check . || status=1; \
	$(VENV)/bin/ruff format --check . || status=1; \
	$(VENV)/bin/pyright || status=1; \
	$(PY) -m pytest -q tests/test_structure.py || status=1; \
	$(PY) -m tests.processor_time $(RECORD) || status=1; \
	exit $$status

test-cuda-sim: $(VENV)/.dev  ## Run the tests of the GPU's backend in numba's simulator
	NUMBA_ENABLE_CUDASIM=1 $(PY) -m pytest tests/cuda

test-distributed: $(VENV)/.distributed  ## Test training over several processes; installs MPI, 15 MB, the first time
	$(PY) -m pytest tests/distributed tests/exhaustive/distributed

check-cuda: .venv-cuda/.made  ## Compile every CUDA kernel for sm_80 and sm_90, without a GPU (819 MB of compilers at the first run)
	.venv-cuda/bin/python -m tests.cuda.compile_check

docs: $(VENV)/.dev  ## Build the book into docs/_build/html
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

prove: $(VENV)/.dev  ## Prove that the tests catch every wrong answer
	$(PY) -m course.staff prove --all

bench: $(VENV)/.dev  ## Time our scalars against micrograd
	$(PY) -m benchmarks.scalar

format: $(VENV)/.dev  ## Format the source
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:  ## Remove the environment and everything that was built
	rm -rf $(VENV) .venv-cuda build dist *.egg-info docs/_build .course .hypothesis .pytest_cache .ruff_cache

# Debian's python3 may come without ensurepip: then its own pip fills the environment.
$(VENV)/.made:
	@command -v $(PYTHON) > /dev/null || { echo "found no $(PYTHON); name a Python that is installed: make PYTHON=python3.12 app"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "MiniTorch needs Python 3.11 or newer, got $$($(PYTHON) --version); try: make PYTHON=python3.12 app"; exit 1; }
	@echo "Making $(VENV) with everything that the course needs (once, about a minute) ..."
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(PY) install pip; }
	@touch $@

# Modules are compiled when they are first imported: all of them at once would be a third of a student's waiting. Who grades needs them
# compiled, as the sandbox may not write.
INSTALL := $(PY) -m pip install --disable-pip-version-check --no-compile

$(VENV)/.app: $(APP_SET) $(wildcard constraints.txt) pyproject.toml | $(VENV)/.made
	$(INSTALL) $(CONSTRAINTS) $(addprefix -r ,$(APP_SET)) -e .
	@touch $@

$(VENV)/.dev: $(DEV_SET) $(wildcard constraints.txt) pyproject.toml | $(VENV)/.made
	$(INSTALL) $(CONSTRAINTS) $(addprefix -r ,$(DEV_SET)) -e .
	@$(PY) -m compileall -q -j 0 $(VENV)/lib > /dev/null || true  # some packages hold templates that are no Python
	@touch $@ $(VENV)/.app

$(VENV)/.distributed: requirements.distributed.txt $(wildcard constraints.txt) | $(VENV)/.dev
	$(INSTALL) $(CONSTRAINTS) -r requirements.distributed.txt
	@touch $@

# numba-cuda takes numba.cuda over in an environment, so it has one of its own.
.venv-cuda/.made: requirements.txt requirements.cuda.txt $(wildcard constraints.txt) | $(VENV)/.dev
	$(PYTHON) -m venv .venv-cuda || $(PYTHON) -m venv --clear --without-pip .venv-cuda
	$(PY) -m pip --python .venv-cuda/bin/python install --disable-pip-version-check $(CONSTRAINTS) -r requirements.txt -r requirements.cuda.txt
	@touch $@
