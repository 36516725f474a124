"""Many sign-ins at once: few passwords are hashed, and the rest is refused before anything is read or written."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

from sqlalchemy import func, insert, select

from tests.kit.service import sites
from tests.kit.service.accounts import HERE, browser, one_time_password, owner, sign_in
from treewarden.service.auth.passwords import PLACES, SHARE, HashingQueue
from treewarden.service.database.tables import sign_in_failure
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX
from treewarden.service.use_cases.accounts.attempts import ATTEMPTS_FROM_ADDRESS, Limit

MANY = 24


def attempts(site):
    with site.reading() as unit:
        counted = select(func.count()).select_from(sign_in_failure)
        return unit.connection.execute(counted).scalar_one()


def test_of_many_sign_ins_from_one_address_two_wait_and_the_others_are_refused(site):
    client = browser(site)

    def tried(number):
        return sign_in(client, f"nobody {number}", "guess")

    with ThreadPoolExecutor(MANY) as pool, site.hashing.turn():
        found = as_completed([pool.submit(tried, number) for number in range(MANY)])
        refused = [next(found).result() for _ in range(MANY - SHARE)]
        written = attempts(site)
    assert {each.status_code for each in refused} == {429}
    assert all(int(each.headers["retry-after"]) > 0 for each in refused)
    assert written <= SHARE * 3
    assert sorted(each.result().status_code for each in found) == [401] * SHARE


def test_strangers_cannot_take_the_places_of_who_signed_in_before(site):
    client = owner(site)
    with ExitStack() as held:
        for number in range(PLACES):
            held.enter_context(site.hashing.take(f"198.51.100.{number}", is_known=False))
        assert sign_in(browser(site), "root").status_code == 429
        assert sign_in(client).status_code == 303


def test_one_hash_is_made_at_a_time():
    queue, running, most, lock = HashingQueue(), 0, 0, threading.Lock()

    def hashed(number):
        nonlocal running, most
        with queue.take(str(number), is_known=False), queue.turn():
            with lock:
                running += 1
                most = max(most, running)
            with lock:
                running -= 1

    with ThreadPoolExecutor(PLACES) as pool:
        for each in [pool.submit(hashed, number) for number in range(PLACES)]:
            each.result()
    assert most == 1


def test_an_address_has_a_limit_over_all_names(site):
    host = "192.0.2.77"
    with site.unit() as unit:
        key = Limit(f"{host}\naddress", ATTEMPTS_FROM_ADDRESS).key
        unit.connection.execute(
            insert(sign_in_failure),
            [
                {"id": new_id(), "name_hash": key, "created_at": unit.now}
                for _ in range(ATTEMPTS_FROM_ADDRESS)
            ],
        )
    answer = sign_in(browser(site, host), "somebody new", "guess")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "900")
    assert sign_in(browser(site, "192.0.2.78"), "somebody new", "guess").status_code == 401


def test_each_name_that_is_tried_counts_for_the_address(site):
    client = browser(site, "2001:db8:1:2::1")
    for name in ("ann", "bob"):
        sign_in(client, name, "guess")
    sign_in(browser(site, "2001:db8:1:2:ffff::9"), "eve", "guess")
    key = Limit("2001:db8:1:2::/64\naddress").key
    with site.reading() as unit:
        counted = select(func.count()).where(sign_in_failure.c.name_hash == key)
        assert unit.connection.execute(counted).scalar_one() == 3


def test_the_account_page_waits_for_a_turn_too(site):
    client = owner(site)
    me = client.get(f"{PREFIX}/me").json()["id"]
    with ExitStack() as held:
        for _ in range(SHARE):
            held.enter_context(site.hashing.take(me, is_known=True))
        form = {"password": "guess", "new_password": "another horse battery"}
        answer = client.post("/account", data=form, headers=HERE)
    assert (answer.status_code, "retry-after" in answer.headers) == (429, True)


def test_to_make_an_account_or_reset_its_password_hashes_nothing(site):
    client = sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    with site.hashing.turn():  # whoever wanted one would wait for ever
        new = {"name": "bob", "role": "viewer"}
        made = client.post(f"{PREFIX}/accounts", json=new).json()
        path = f"{PREFIX}/accounts/{made['account']['id']}/password"
        again = client.post(path).json()
        assert one_time_password(site, "eve", "Hospital")
    bobs = browser(site)
    assert sign_in(bobs, "bob", made["password"]).status_code == 401
    assert sign_in(bobs, "bob", again["password"]).status_code == 409
