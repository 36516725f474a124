import json
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import select, update

from tests.kit.service import sites
from treewarden.service.database.run_tables import delivery, webhook
from treewarden.service.ledger.log import HEADER, Event, emit, queue, verify_signature
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.people import NewWebhook
from treewarden.service.use_cases.notices import (
    create_webhook,
    disable_webhook,
    list_deliveries,
    redeliver,
)
from treewarden.service.worker.delivery import AGAIN, deliver_due


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path):
    with sites.make_site(request.param, tmp_path, webhook_hosts=("127.0.0.1",)) as found:
        yield found


@contextmanager
def a_receiver(status=200, location=None):
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, dict(self.headers), body))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def a_webhook(site, url, *events):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    with site.unit() as unit:
        made = create_webhook(unit, ann, NewWebhook(url=url, events=events or tuple(Event)))
    return ann, made


def tell(site, who, event=Event.AUDIT_FINISHED):
    with site.unit() as unit:
        emit(unit, who.organisation_id, event, {"audit_id": "1", "verdict": "FAIL"})


def deliveries(site, who, webhook_id):
    with site.reading() as unit:
        return list_deliveries(unit, who, webhook_id, PageRequest()).items


def test_an_event_arrives_once_and_signed(site):
    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        assert deliver_due(site) == 1
        assert deliver_due(site) == 0
    (path, headers, body), *more = got
    assert (path, more) == ("/hook", [])
    assert json.loads(body)["data"] == {"audit_id": "1", "verdict": "FAIL"}
    with site.reading() as unit:
        now = unit.now.timestamp()
    assert verify_signature(made.secret, headers[HEADER], body, now)
    (told,) = deliveries(site, ann, made.webhook.id)
    assert (told.state, told.status_code, told.attempts) == ("done", 200, 1)
    assert headers["Treewarden-Delivery"] == told.id


def test_only_events_that_were_asked_for_are_sent(site):
    with a_receiver() as (url, got):
        ann, _ = a_webhook(site, url, Event.RELEASE_OPENED)
        tell(site, ann, Event.AUDIT_FINISHED)
        tell(site, ann, Event.RELEASE_OPENED)
        assert deliver_due(site) == 1
    assert json.loads(got[0][2])["event"] == "release.opened"


def test_a_redirect_is_not_followed(site):
    with a_receiver() as (elsewhere, other), a_receiver(302, elsewhere) as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        deliver_due(site)
    assert (len(got), len(other)) == (1, 0)
    assert deliveries(site, ann, made.webhook.id)[0].problem == "answered 302"


def test_it_is_tried_again_less_and_less_often_and_then_given_up(site):
    with a_receiver(500) as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        for number, pause in enumerate((*AGAIN, None), start=1):
            assert deliver_due(site) == 1
            with site.unit() as unit:
                row = unit.connection.execute(select(delivery)).one()
                assert row.attempts == number
                if pause is not None:
                    assert row.next_at - unit.now > pause - timedelta(seconds=30)
                    unit.connection.execute(update(delivery).values(next_at=unit.now))
        assert deliver_due(site) == 0
    assert deliveries(site, ann, made.webhook.id)[0].state == "failed"
    assert len(got) == len(AGAIN) + 1


def test_what_failed_can_be_sent_again_with_the_same_id(site):
    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        with site.unit() as unit:
            unit.connection.execute(update(delivery).values(state="failed"))
        told = deliveries(site, ann, made.webhook.id)[0]
        with site.unit() as unit:
            redeliver(unit, ann, told.id)
        assert deliver_due(site) == 1
    assert got[0][1]["Treewarden-Delivery"] == told.id


def test_a_disabled_webhook_hears_nothing_more(site):
    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        with site.unit() as unit:
            disable_webhook(unit, ann, made.webhook.id)
        tell(site, ann)
        assert deliver_due(site) == 0
    assert got == []


def test_a_name_that_leads_inside_by_the_time_it_is_called_is_not_called(site):
    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        with site.unit() as unit:
            unit.connection.exec_driver_sql(
                "UPDATE webhook SET url = 'https://rebound.example.org/'"
            )
        tell(site, ann)
        assert deliver_due(site, resolve=lambda host, port: ["127.0.0.1"]) == 1
    assert got == []
    assert "internal network" in deliveries(site, ann, made.webhook.id)[0].problem


def test_two_workers_send_one_event_once(site):
    with a_receiver() as (url, got):
        ann, _ = a_webhook(site, url)
        for _ in range(6):
            tell(site, ann)
        threads = [threading.Thread(target=deliver_due, args=(site,)) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    ids = [headers["Treewarden-Delivery"] for _, headers, _ in got]
    assert len(ids) == len(set(ids)) == 6


def test_a_host_is_found_once_for_each_attempt(site):
    asked = []

    def rebinding(host, port):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        tell(site, ann)
        assert deliver_due(site, resolve=rebinding) == 1
    assert (asked, len(got)) == (["127.0.0.1"], 1)
    assert deliveries(site, ann, made.webhook.id)[0].state == "done"


@pytest.mark.parametrize(
    "url", ["https://hook.example.org/h\u00f6ren", "https://[::1", "file:///etc/passwd"]
)
def test_an_address_that_cannot_be_called_keeps_no_other_delivery_from_being_sent(site, url):
    with a_receiver() as (fine, got):
        ann, made = a_webhook(site, fine)
        tell(site, ann)
        with site.unit() as unit:
            unit.connection.execute(update(webhook).values(url=url))
            create_webhook(unit, ann, NewWebhook(url=fine, events=tuple(Event)))
        tell(site, ann)
        assert deliver_due(site, resolve=lambda *_: ["127.0.0.1"]) == 3
    assert len(got) == 1
    assert all(each.problem for each in deliveries(site, ann, made.webhook.id))


def test_what_was_queued_while_a_webhook_was_disabled_is_not_sent(site):
    with a_receiver() as (url, got):
        ann, made = a_webhook(site, url)
        with site.unit() as unit:
            disable_webhook(unit, ann, made.webhook.id)
            queue(unit, ann.organisation_id, made.webhook.id, Event.PING, {})
        assert deliver_due(site) == 0
    assert got == []
