# Everything runs in .venv, and what needs the tools whose models are read in .venv-tools; a second run installs nothing.
# Choose another Python with: make demo PYTHON=python3.12

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TOOLS  := .venv-tools
# pip compiles on one core; what it leaves is compiled on all of them, without the tests that packages bring.
INSTALL := -m pip --quiet --disable-pip-version-check install --no-compile -c constraints.txt
COMPILE := -m compileall -q -j 0 -x '[/\\]tests?[/\\]'
PRODUCT := treewarden audit policies ppdm_models reports service
PIP    := $(BIN)/python $(INSTALL)
PINS   := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help words demo test coverage test-all test-rest test-tools mutants check docs docs-shown docs-pictures soundness soundness-worlds soundness-ensembles soundness-partial soundness-doors soundness-draws studies bench bench-worlds \
	bench-ensembles bench-forests bench-membership bench-partial bench-formats bench-commands bench-peers bench-planning bench-scale bench-streams bench-wide conformance fuzz ipopt clean serve chaos load sign-ins

help:
	@echo "make demo    audit, repair and report on a tree grown on real data (installs what it needs into $(VENV))"
	@echo "make test    run every claim, on few draws and without servers, browsers, R and clusters: minutes"
	@echo "make coverage  lines and branches of the product that each tier of the tests reaches"
	@echo "make test-all   run all tests, and name the twenty slowest; make test-rest runs what make test leaves out"
	@echo "make test-tools  run the tests that compare with XGBoost, LightGBM, CatBoost, onnxruntime and JPMML ($(TOOLS))"
	@echo "make mutants put small faults into the product and see which tests notice (CHUNK=1/1; what was tried is kept)"
	@echo "make check   formatting, lint, types, generated files up to date"
	@echo "make docs    build the documentation into build/docs; a warning is an error, and no network is needed"
	@echo "make words   count words of a private language in pages, help screens and output, against their ceilings"
	@echo "make docs-shown  run the commands that the tutorials show, and write what they print now into them"
	@echo "make docs-pictures  make the pictures of reports in the documentation (needs chromium)"
	@echo "make soundness  judge the estimate, exact worlds and the doors on random small cases (CASES=... SEED=0)"
	@echo "make soundness-worlds  exact worlds alone, against a list of every world (CASES=5000 SEED=0)"
	@echo "make soundness-ensembles  what leaves of several trees prove, against every table and the learners (CASES=5000 SEED=0)"
	@echo "make soundness-partial  who knows some columns only, against every table (CASES=5000 SEED=0)"
	@echo "make soundness-draws  all tests that draw: every seed, and examples of Hypothesis that nobody has tried yet"
	@echo "make soundness-doors  how files and tables become facts, against the learners (CASES=500 of a kind SEED=0)"
	@echo "make studies    repeat the papers' tables on their data (DATA=folder that holds adult_train.csv)"
	@echo "make bench      time and memory of the solver, against other ways to the same answer (DATA=...)"
	@echo "make bench-worlds  time, memory and proofs of exact worlds; make bench runs it too (DATA=...)"
	@echo "make conformance  compare what is read from published models with their real tools (MODELS=...)"
	@echo "make fuzz       damage model files at random, SECONDS=60 in all, and look for a reader that fails"
	@echo "make bench-ensembles  time and memory of what all trees of large models prove together (DATA=...)"
	@echo "make bench-forests  time whole audits of forests of up to 5,000 trees (DATA=...)"
	@echo "make bench-membership  time and memory of proofs of who was in the table"
	@echo "make bench-partial  time what is said of who knows some columns only, on Adult (DATA=...)"
	@echo "make bench-peers  the same answers by SACRO-ML, pycanon, ARX and sdcMicro (PEERS=folder that holds them)"
	@echo "make bench-planning  hold what --plan says against the audits themselves"
	@echo "make bench-commands  time whole commands: text, JSON and HTML of the same audit, and how long it takes to start"
	@echo "make bench-formats  time and memory of reading, beside parsers that understand nothing"
	@echo "make bench-streams  time and memory of commands on tables larger than memory, at n and 10 n records"
	@echo "make bench-wide  time wide trees, a million profiles and forests of full trees"
	@echo "make bench-scale  audit tables of up to 1,000,000 profiles beside DuckDB counting them, and how that grows (FOLDER=where they are written)"
	@echo "make serve   run the service with the demo's tree and table in it, in build/service; prints the address and passwords"
	@echo "make chaos   kill and stop workers of the service at random, and count what is lost or done twice (AUDITS=1000 DATABASE=sqlite)"
	@echo "make load    time the service's pages under 50 clients while two workers audit"
	@echo "make sign-ins  time them while strangers send 500 sign-ins at once, and measure the memory"
	@echo "make ipopt   build cyipopt against this machine's IPOPT: the second solver door, optional"
	@echo "make clean   remove $(VENV), $(TOOLS) and what was generated"
	@echo
	@echo "Afterwards: $(BIN)/treewarden audit MODEL --data TABLE --sensitive COLUMN"

demo: $(VENV)/.demo
	@$(BIN)/treewarden demo

# Which test belongs to which tier: tests/kit/tiers.py. Where nothing compiled may be kept, each of the workers and of the
# hundreds of processes that tests start compiles all that it loads. Each core has a worker: more threads would only wait.
unexport PYTHONDONTWRITEBYTECODE
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal
SLOWEST := --durations 20 --durations-min 0

test: $(VENV)/.dev
	@$(BIN)/treewarden doctor
	$(TESTS) --tier quick

test-all: $(VENV)/.dev
	@$(BIN)/treewarden doctor
	$(TESTS) --tier all $(SLOWEST)

test-rest: $(VENV)/.dev
	$(TESTS) --tier rest $(SLOWEST)

# What is published by a tool is held against the tool itself, by the files of tests that skip where it is missing.
ONLY_TOOLS := catboost|cyclonedx|in_toto|jpmml|mlflow|model_signing|onnxruntime|securesystemslib|sigstore|skl2onnx|wandb|xgboost
SKIPPING := importorskip.*($(ONLY_TOOLS)|tool,|name,|package,|library[)])|not is_there[(]|if is_there[(]|find_spec[(]name
OF_BOOSTED := tests/audit/membership/test_boosted.py
TOOL_TESTS := $(filter-out $(OF_BOOSTED), $(shell grep -rlE --include='test_*.py' '$(SKIPPING)' tests)) \
	$(addprefix $(OF_BOOSTED)::test_, each_library_makes_thresholds_as_it_is_said_to \
	what_files_of_tools_prove_holds_of_every_part_that_grows_them)

test-tools: $(TOOLS)/.tools
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(TOOLS)/bin/python -m pytest -n auto --dist worksteal -rs $(TOOL_TESTS)

# Which tests reach which fault is recorded once, in one process, and again of files that have changed: tests/mutants.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants record
	$(BIN)/python -m tests.mutants run --chunk $(or $(CHUNK),1/1)

# Lines and branches of the product that each tier reaches, in the processes that it starts too: twice as long as test-all.
# Of some files of tests only: make coverage PATHS="tests/policies tests/audit/engine". Beside other work: NICE="nice -n 15" WORKERS=1.
COVERAGE := build/coverage
WORKERS ?= auto
# Tests whose processes die lose what coverage had recorded of all tests before them, or wait for it.
coverage: $(VENV)/.dev
	rm -rf $(COVERAGE) && mkdir -p $(COVERAGE)
	for tier in quick rest; do COVERAGE_FILE=$(COVERAGE)/.coverage.$$tier OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(NICE) $(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist worksteal --tier $$tier \
		-k 'not (kills or process_dies)' $(PATHS); done
	$(BIN)/python -m tests.kit.coverage_by_tier $(COVERAGE)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -c "$(schema_is_current)"
	$(BIN)/python -m tests.kit.words --check

# Words that only insiders read without stumbling, by document: make words; WORDS=--shrink lowers the ceilings.

words: $(VENV)/.dev
	$(BIN)/python -m tests.kit.words $(WORDS)

schema_is_current := import sys; from treewarden.reports.document.schema import outdated; \
	sys.exit(bool(outdated()) and f'{outdated()} out of date: python -m treewarden.reports.document.schema')

# The reference is generated from the code as it stands; links, notebooks and pages that load something from elsewhere are checked.

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/docs
	@echo "build/docs/index.html"

docs-shown: $(VENV)/.demo
	$(BIN)/python -m docs._ext.console docs/tutorial.md docs/gate-tutorial.md docs/gate-waiver.md docs/policy-review.md docs/policy-tests.md docs/neighbour.md

docs-pictures: $(VENV)/.dev
	$(BIN)/python -m docs._ext.screenshots

# What is measured, and against what. The data sets are public (see benchmarks/adult.py) and not part of this project.

SEED  ?= 0
DATA  ?= ../shared/data
PEERS ?= build/peers
MODELS ?= ../shared/models
SECONDS ?= 60

soundness: soundness-worlds soundness-ensembles soundness-partial soundness-doors soundness-draws
	$(BIN)/python -m tests.judges.run_estimate --cases $(or $(CASES),10000) --seed $(SEED)

soundness-worlds: $(VENV)/.dev
	$(BIN)/python -m tests.judges.run_worlds --cases $(or $(CASES),5000) --seed $(SEED)

soundness-ensembles: $(VENV)/.dev
	$(BIN)/python -m tests.judges.run_ensembles --cases $(or $(CASES),5000) --seed $(SEED)
	$(BIN)/python -m tests.judges.run_inverters --seed $(SEED)
	$(BIN)/python -m tests.judges.run_numbers --cases $(or $(CASES),5000) --seed $(SEED)
	$(BIN)/python -m tests.judges.run_background --cases $(or $(CASES),3000) --seed $(SEED)

soundness-partial: $(VENV)/.dev
	$(BIN)/python -m tests.judges.run_partial --cases $(or $(CASES),5000) --seed $(SEED)
	$(BIN)/python -m tests.judges.run_crossing --cases $(or $(CASES),3000) --seed $(SEED)

soundness-doors: $(VENV)/.dev
	$(BIN)/python -m tests.judges.run_learners --cases $(or $(CASES),500) --seed $(SEED)
	$(BIN)/python -m tests.judges.run_doors --cases $(or $(CASES),500) --seed $(SEED)

# Tests of every tier draw the same examples each time, so that a commit passes or does not; these look further.
soundness-draws: $(VENV)/.dev
	$(TESTS) --tier soundness --new-draws

studies: $(VENV)/.dev $(TOOLS)/.tools
	$(BIN)/python -m benchmarks.studies.zhu_du_2010 --data $(DATA)
	$(BIN)/python -m benchmarks.studies.pruning --data $(DATA)
	$(BIN)/python -m benchmarks.studies.tpp --data $(DATA)
	$(BIN)/python -m benchmarks.studies.sharkey_2008 --data $(DATA)
	$(BIN)/python -m benchmarks.studies.agrawal_srikant_2000
	$(BIN)/python -m benchmarks.studies.vertical_2008 --data $(DATA)
	$(BIN)/python -m benchmarks.studies.partial --data $(DATA)
	$(BIN)/python -m benchmarks.studies.joint_outputs --data $(DATA)
	$(TOOLS)/bin/python -m benchmarks.studies.ensembles --data $(DATA)
	$(TOOLS)/bin/python -m benchmarks.studies.membership --data $(DATA)

bench: bench-worlds
	$(BIN)/python -m benchmarks.maxent --data $(DATA)
	$(BIN)/python -m benchmarks.remedies

bench-ensembles: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.ensembles --data $(DATA) --out docs/engineering/benchmarks-ensembles.md

bench-forests: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.forests --data $(DATA) --out docs/engineering/benchmarks-forests.md

bench-membership: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.membership --out docs/engineering/benchmarks-membership.md

bench-partial: $(VENV)/.dev
	$(BIN)/python -m benchmarks.partial --data $(DATA) --out docs/engineering/benchmarks-partial.md

bench-worlds: $(VENV)/.dev
	$(BIN)/python -m benchmarks.worlds --data $(DATA)

bench-commands: $(VENV)/.demo $(VENV)/.dev
	$(BIN)/python -m benchmarks.commands --data $(DATA) --out docs/engineering/benchmarks-commands.md

bench-peers: $(VENV)/.dev $(PEERS)/.peers
	$(BIN)/python -m benchmarks.peers --data $(DATA) --peers $(PEERS)

$(PEERS)/.peers:
	@$(PYTHON) -m venv $(PEERS)/venv
	@echo "installing SACRO-ML and pycanon into $(PEERS) (once; PyTorch is large) ..."
	@$(PEERS)/venv/bin/python -m pip --quiet install sacroml pycanon
	@touch $@

bench-scale: $(VENV)/.dev
	$(BIN)/python -m benchmarks.scale --folder $(or $(FOLDER),build/scale) --out docs/engineering/benchmarks-scale.md

bench-wide: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.wide --data $(DATA) --out docs/engineering/benchmarks-wide.md

bench-streams: $(VENV)/.dev
	$(BIN)/python -m benchmarks.streams --out docs/engineering/benchmarks-streams.md

bench-planning: $(VENV)/.demo $(VENV)/.dev
	$(BIN)/python -m benchmarks.planning --data $(DATA) --out docs/engineering/benchmarks-planning.md

bench-formats: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.formats --out docs/engineering/benchmarks-formats.md

conformance: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m benchmarks.conformance $(MODELS) --out docs/engineering/conformance.md --seed $(SEED)

fuzz: $(TOOLS)/.tools
	$(TOOLS)/bin/python -m tests.judges.run_fuzz --seconds $(SECONDS) --seed $(SEED) --models $(MODELS)

# The service, as one tries it, and under strain.

AUDITS   ?= 1000
DATABASE ?= sqlite

serve: $(VENV)/.dev
	@$(BIN)/python -m treewarden.service.operations.demo build/service

chaos: $(VENV)/.dev
	$(BIN)/python -m tests.judges.run_chaos --audits $(AUDITS) --database $(DATABASE)

load: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service_load

sign-ins: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service_sign_ins

clean:
	rm -rf $(VENV) $(TOOLS) demo-report docs/reference/_generated build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Stamps: each is newer than the pins when its packages are installed, so that pip is asked only once.

$(VENV)/.demo: $(VENV)/.made $(PINS)
	@echo "installing treewarden and what the demo needs (once, about a minute) ..."
	@$(PIP) -e '.[demo]'
	@$(call compile_all,$(VENV))
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(PINS)
	@echo "installing treewarden, the demo and the developer's tools (once, about a minute) ..."
	@$(PIP) -e '.[demo,dev,serve,telemetry]'
	@$(call compile_all,$(VENV))
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: $(VENV)/.made $(PINS)
	@echo "installing what builds the documentation (once, about a minute) ..."
	@$(PIP) -e '.[demo,docs,serve,telemetry]'
	@$(call compile_all,$(VENV))
	@touch $@ $(VENV)/.demo

$(TOOLS)/.tools: $(TOOLS)/.made $(PINS)
	@echo "installing the tools whose models are read (once, some minutes; JPMML needs Java too) ..."
	@$(TOOLS)/bin/python $(INSTALL) -e '.[demo,dev,tools]'
	@$(call compile_all,$(TOOLS))
	@touch $@

ipopt: $(VENV)/.dev $(VENV)/.ipopt

$(VENV)/.ipopt: $(VENV)/.made constraints.txt
	@$(apt_ipopt)
	@echo "building cyipopt ..."
	@$(PIP) cyipopt || { echo "$(ipopt_advice)" >&2; exit 1; }
	@touch $@

$(VENV)/.made $(TOOLS)/.made:
	@$(python_is_new_enough)
	@$(venv_is_there)
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python $(INSTALL) pip
	@touch $@

# Packages hold some files that no Python compiles: templates, and code of other versions.
compile_all = $(1)/bin/python $(COMPILE) $(1)/lib $(PRODUCT) >/dev/null 2>&1 || true

define python_is_new_enough
command -v $(PYTHON) >/dev/null || { \
	echo "no $(PYTHON) here: install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "$(PYTHON) is `$(PYTHON) --version`: treewarden needs 3.11 or newer; name one: make PYTHON=python3.12" >&2; \
	exit 1; }
endef

# Debian and its kin keep venv in a package of its own. Root may install it; anyone else is told how.
venv_package := $(notdir $(PYTHON))-venv
define venv_is_there
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	if [ "`id -u`" = 0 ] && command -v apt-get >/dev/null; then \
		echo "$(PYTHON) lacks venv: apt-get install $(venv_package)"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(venv_package) >/dev/null; \
	else \
		echo "$(PYTHON) lacks venv. On Debian or Ubuntu, this brings it: sudo apt-get install $(venv_package)" >&2; \
		exit 1; \
	fi; }
endef

ipopt_packages := coinor-libipopt-dev liblapack-dev libblas-dev pkg-config gcc $(notdir $(PYTHON))-dev
ipopt_advice := cyipopt was not built; on Debian or Ubuntu it needs: sudo apt-get install $(ipopt_packages)
define apt_ipopt
if ! pkg-config --exists ipopt 2>/dev/null && [ "`id -u`" = 0 ] && command -v apt-get >/dev/null; then \
	echo "installing IPOPT's headers: apt-get install $(ipopt_packages)"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(ipopt_packages) >/dev/null; \
fi
endef
