"""What a database is told of how it is used."""

import pytest
from sqlalchemy import text

from tests.kit.service import sites


@pytest.mark.postgresql
def test_postgresql_starts_no_workers_and_compiles_nothing_for_a_list(tmp_path):
    """Told to do both for any question, it does neither: either takes longer than the answer of a list."""
    with sites.make_site("postgresql", tmp_path) as site, site.reading() as unit:
        run = unit.connection.exec_driver_sql
        for eager in ("parallel_setup_cost", "parallel_tuple_cost", "jit_above_cost"):
            run(f"SET LOCAL {eager} = 0")
        run("SET LOCAL min_parallel_table_scan_size = 0")
        plan = "\n".join(run("EXPLAIN (ANALYZE) SELECT release_id FROM release_party").scalars())
    assert "Append" in plan
    assert "Gather" not in plan
    assert "JIT" not in plan


@pytest.mark.postgresql
def test_a_connection_of_the_pool_comes_back_without_a_transaction(tmp_path):
    with sites.make_site("postgresql", tmp_path) as site, site.engine.connect() as connection:
        assert not connection.connection.dbapi_connection.autocommit
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
