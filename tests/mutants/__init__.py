"""Mutants: small faults put into the product on purpose, to see whether the tests notice.

    python -m tests.mutants list                   # the chosen mutants
    python -m tests.mutants record [PATHS]         # which tests evaluate which of them, once
    python -m tests.mutants run --chunk 3/20       # try them; what was tried before is not tried again
    python -m tests.mutants report                 # killed by the quick tier, by the rest, or survived

A copy of the checkout in `build/mutants` has all mutants built in, each asleep until it is named: ``a < b`` becomes
``(a <= b if is_on(17) else a < b)``. So tests are collected once, a process is forked for each mutant, and the
checkout itself is never changed. Both tiers are recorded and tried as they are run: Hypothesis has the examples of the
tier, and only what no test of the quick tier kills is tried on the rest. A mutant that only a child process evaluates
is not seen by `record`.
"""
