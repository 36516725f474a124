"""Notices by e-mail, to a real server: who hears, what an e-mail holds, and what becomes of one that fails."""

import re
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from sqlalchemy import select, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.receivers import SECONDS, open_dripping_receiver, write_certificate
from treewarden.service.database.run_tables import mail
from treewarden.service.database.tables import account
from treewarden.service.errors import ConflictError, InvalidError, SetupError, TooManyError
from treewarden.service.ledger.log import Event
from treewarden.service.schemas.people import NewNotices
from treewarden.service.settings import Settings, settings_from
from treewarden.service.use_cases.notices import get_notices, send_test, set_notices
from treewarden.service.use_cases.retention import sweep
from treewarden.service.worker.delivery import AGAIN, compose, deliver_due, send_mail
from treewarden.service.worker.leases import claim
from treewarden.service.worker.orders import JobAnswer
from treewarden.service.worker.store_results import commit

BASE = "https://audits.example.org"
FROM = "treewarden@example.org"
NOW = datetime(2026, 1, 31, tzinfo=UTC)


class Inbox:
    """What a mail server took, and what it answers to a recipient."""

    def __init__(self, answer="250 OK"):
        self.answer, self.got = answer, []

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802  # its name
        if self.answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.answer

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  # its name
        self.got.append((envelope.rcpt_tos, envelope.content.decode(), session.ssl is not None))
        return "250 taken"


class OnAnyPort(Controller):
    """A server on a port that is free, which it looks for itself to see whether it is there."""

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def a_mail_server(answer="250 OK", **options):
    inbox = Inbox(answer)
    server = OnAnyPort(inbox, hostname="127.0.0.1", port=0, **options)
    server.start()
    try:
        yield server.port, inbox
    finally:
        server.stop()


def settings_for(port, **more):
    said = {"mail_host": "127.0.0.1", "mail_port": port, "mail_tls": "none"}
    return {**said, "mail_from": FROM, "base_url": BASE, **more}


@pytest.fixture
def server():
    with a_mail_server() as found:
        yield found


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path, server):
    with sites.make_site(request.param, tmp_path, **settings_for(server[0])) as found:
        yield found


def hearing(site, home, name, role, *events):
    who = sites.add_account(site, home, name, role)
    with site.unit() as unit:
        set_notices(unit, who, NewNotices(address=f"{name}@example.org", events=events))
    return who


def finished(site, who, headline):
    """Let an audit of somebody end."""
    make.queue_audit(site, who, make.add_version(site, who), make.add_upload(site, who))
    with site.unit() as unit:
        held = claim(unit, "test", 30)
    assert commit(site, held, JobAnswer(verdict="FAIL", headline=headline), ())
    return held.subject_id


def rows(site):
    with site.reading() as unit:
        return unit.connection.execute(select(mail).order_by(mail.c.id)).all()


def test_who_asked_hears_that_an_audit_ended_and_nothing_of_what_it_found(site, home, server):
    ann = hearing(site, home, "ann", "submitter", Event.AUDIT_FINISHED)
    hearing(site, home, "bob", "submitter", Event.AUDIT_FINISHED)
    audit = finished(site, ann, f"the leaf {make.CANARY} has one person")
    assert deliver_due(site) == 1
    assert deliver_due(site) == 0
    ((to, text, _),) = server[1].got
    assert to == ["ann@example.org"]
    assert f"{BASE}/audits/{audit}" in text
    assert "Subject: treewarden: an audit that you requested has ended" in text
    assert re.search(r"^Auto-Submitted: auto-generated\r?$", text, re.MULTILINE)
    for word in (make.CANARY, "FAIL", "illness", "people.csv", "place"):
        assert word not in text
    (row,) = rows(site)
    assert (row.state, row.attempts, row.problem) == ("done", 1, "")


def test_who_may_decide_hears_of_what_waits_but_not_of_his_own(site, home, server):
    events = (Event.WAIVER_REQUESTED, Event.WAIVER_DECIDED)
    ann = hearing(site, home, "ann", "submitter", *events)
    rita = hearing(site, home, "rita", "reviewer", *events)
    hearing(site, home, "olga", "administrator")
    elsewhere = sites.add_organisation(site, "Bank")
    hearing(site, elsewhere, "eve", "reviewer", *events)
    body = {
        "clause": "smallest-leaf",
        "digest": f"sha256:{0:064}",
        "reason": "Agreed",
        "owner": "ann",
        "ticket": "P-1",
        "expires": (date.today() + timedelta(days=30)).isoformat(),
    }
    asked = sites.open_client(site, ann, base_url=BASE).post("/api/v1/waivers", json=body)
    assert asked.status_code == 201, asked.text
    made = asked.json()
    deliver_due(site)
    assert [to for to, *_ in server[1].got] == [["rita@example.org"]]
    path = f"/api/v1/waivers/{made['id']}/refuse"
    answer = sites.open_client(site, rita, base_url=BASE).post(path, json={"comment": "No"})
    assert answer.status_code == 200, answer.text
    deliver_due(site)
    to, text, _ = server[1].got[-1]
    assert to == ["ann@example.org"]
    assert f"{BASE}/waivers/{made['id']}" in text


def test_what_fails_is_tried_again_until_it_is_given_up(tmp_path):
    with a_mail_server("451 later") as (port, inbox):
        with sites.make_site("sqlite", tmp_path, **settings_for(port)) as site:
            ann = hearing(site, sites.add_organisation(site), "ann", "submitter")
            with site.unit() as unit:
                send_test(unit, ann)
            for number, pause in enumerate((*AGAIN, None), start=1):
                assert deliver_due(site) == 1
                (row,) = rows(site)
                assert (row.attempts, row.problem) == (number, "the recipient is refused (451)")
                if pause is not None:
                    with site.unit() as unit:
                        assert row.next_at - unit.now > pause - timedelta(seconds=30)
                        unit.connection.execute(update(mail).values(next_at=unit.now))
            assert deliver_due(site) == 0
            assert rows(site)[0].state == "failed"
        assert inbox.got == []


def test_a_recipient_who_is_refused_for_good_is_not_tried_again(tmp_path):
    with (
        a_mail_server("550 unknown") as (port, _),
        sites.make_site("sqlite", tmp_path, **settings_for(port)) as site,
    ):
        ann = hearing(site, sites.add_organisation(site), "ann", "submitter")
        with site.unit() as unit:
            send_test(unit, ann)
        deliver_due(site)
        (row,) = rows(site)
        assert (row.state, row.problem) == ("failed", "the recipient is refused (550)")


def test_who_is_let_in_no_more_hears_nothing_more(site, home, server):
    ann = hearing(site, home, "ann", "submitter")
    with site.unit() as unit:
        send_test(unit, ann)
        unit.connection.execute(update(account).values(disabled_at=unit.now))
    deliver_due(site)
    assert server[1].got == []
    assert rows(site)[0].state == "failed"


def test_one_test_a_minute_and_it_is_told_what_became_of_it(site, home, server):
    ann = hearing(site, home, "ann", "submitter")
    with site.unit() as unit:
        assert send_test(unit, ann).last.state == "pending"
    with pytest.raises(TooManyError), site.unit() as unit:
        send_test(unit, ann)
    deliver_due(site)
    with site.reading() as unit:
        assert get_notices(unit, ann).last.state == "done"
    with site.unit() as unit:
        unit.connection.execute(update(mail).values(created_at=unit.now - timedelta(days=31)))
    sweep(site)
    assert rows(site) == []


def test_no_mail_is_queued_where_none_is_sent(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site:
        ann = hearing(site, sites.add_organisation(site), "ann", "submitter", Event.AUDIT_FINISHED)
        finished(site, ann, "")
        assert rows(site) == []
        with pytest.raises(ConflictError, match="TREEWARDEN_MAIL_HOST"), site.unit() as unit:
            send_test(unit, ann)


def test_mail_goes_to_the_domains_that_are_named_and_to_no_other(tmp_path):
    with sites.make_site("sqlite", tmp_path, mail_domains="example.org") as site:
        ann = hearing(site, sites.add_organisation(site), "ann", "submitter")
        with pytest.raises(InvalidError, match=r"example\.org"), site.unit() as unit:
            set_notices(unit, ann, NewNotices(address="ann@elsewhere.example"))


@pytest.mark.parametrize(
    "address",
    ["ann", "a@b", "ann@example.org, eve@example.org", "ann@example.org\nBcc: eve@example.org"],
)
def test_what_is_no_single_address_is_refused(site, home, address):
    client = sites.open_client(site, sites.add_account(site, home, "ann", "viewer"), base_url=BASE)
    body = {"address": address, "events": []}
    assert client.put("/api/v1/me/notices", json=body).status_code == 422
    form = client.post("/account/notices", data={"address": address})
    assert form.status_code == 422


def test_an_account_page_keeps_what_is_wished(site, home):
    client = sites.open_client(site, sites.add_account(site, home, "ann", "viewer"), base_url=BASE)
    client.post("/account/notices", data={"address": "ann@example.org", "events": "audit.finished"})
    told = client.get("/api/v1/me/notices").json()
    assert (told["address"], told["events"]) == ("ann@example.org", ["audit.finished"])
    assert 'value="ann@example.org"' in client.get("/account").text


def message(settings):
    return compose(settings, "0" * 32, "ann@example.org", Event.PING, "/account", NOW)


def test_the_password_goes_over_tls_alone_and_the_certificate_is_checked(tmp_path, monkeypatch):
    trusted, context = write_certificate(tmp_path, "127.0.0.1")
    password = tmp_path / "password"
    password.write_text("opens-it\n")
    seen = []

    def check(server, session, envelope, mechanism, data):
        seen.append((session.ssl is not None, data.login, data.password))
        return AuthResult(success=data.password == b"opens-it", handled=False)

    options = {"tls_context": context, "require_starttls": True, "authenticator": check}
    with a_mail_server(**options) as (port, inbox):
        said = settings_for(port, mail_tls="starttls", mail_user="ann", mail_password_file=password)
        settings = Settings(**said)
        assert "SSLCertVerificationError" in send_mail(settings, message(settings)).problem
        assert seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        assert send_mail(settings, message(settings)).is_done
        assert seen == [(True, b"ann", b"opens-it")]
        assert inbox.got[0][2]
        password.write_text("wrong")
        assert send_mail(settings, message(settings)).problem == "the mail server answered 535"
        password.unlink()
        problem = send_mail(settings, message(settings)).problem
        assert problem == "TREEWARDEN_MAIL_PASSWORD_FILE cannot be read"


def test_a_server_that_answers_drop_by_drop_is_hung_up_on():
    with open_dripping_receiver(b"220-", b"a") as (port, hung_up):
        settings = Settings(**settings_for(port))
        assert not send_mail(settings, message(settings), 0.5).is_done
        assert hung_up.wait(SECONDS)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"base_url": ""}, "TREEWARDEN_BASE_URL"),
        ({"mail_from": "treewarden"}, "TREEWARDEN_MAIL_FROM"),
        ({"mail_tls": "starttls", "mail_user": "ann"}, "TREEWARDEN_MAIL_PASSWORD_FILE"),
        ({"mail_user": "ann", "mail_password_file": "p"}, "TREEWARDEN_MAIL_TLS"),
    ],
)
def test_a_half_set_up_mail_server_is_refused_at_the_start(said, names):
    with pytest.raises(SetupError, match=names):
        settings_from(settings_for(25, **said))
