"""What runs the service elsewhere, held against the service: compose, systemd, the demonstration, a collector."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from tests.kit import places
from tests.kit.service import serving, sites
from treewarden.cli import cli
from treewarden.service.errors import SetupError, UnavailableError
from treewarden.service.operations.demo import load
from treewarden.service.operations.observability import log_as_json, trace_where_asked
from treewarden.service.running import application
from treewarden.service.settings import Settings

UNIT = places.ROOT / "docs" / "examples" / "treewarden.service"
COMPOSE = places.ROOT / "compose.yaml"
VARIABLE = re.compile(r"TREEWARDEN_([A-Z_]+)")


@pytest.mark.parametrize("path", [UNIT, COMPOSE], ids=lambda path: path.name)
def test_each_variable_of_an_example_is_a_setting(path):
    named = {name.lower() for name in VARIABLE.findall(path.read_text("utf-8"))}
    assert named
    assert named <= set(Settings.model_fields)


def test_each_command_of_the_containers_is_there():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    commands = [each["command"] for each in services.values() if "command" in each]
    assert [command[0] for command in commands] == ["db", "serve", "worker"]
    for command in commands:
        assert CliRunner().invoke(cli, [*command, "--help"]).exit_code == 0


def test_only_the_database_is_without_the_limits_of_a_container():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    for name, each in services.items():
        if name != "database":
            assert each["read_only"], name
            assert each["cap_drop"] == ["ALL"], name
        for port in each.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name


def test_the_image_is_given_the_service():
    assert "!service" in (places.ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert re.search(r"/source\[[a-z,-]*\bserve\b", (places.ROOT / "Dockerfile").read_text("utf-8"))


@pytest.mark.processes
def test_the_demonstration_is_loaded_by_the_api(tmp_path):
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    with sites.make_site("sqlite", tmp_path) as site:
        token = sites.add_token(site, sites.add_account(site, sites.add_organisation(site), "ada"))
        with serving.served(site) as (_, port):
            assert load(f"http://127.0.0.1:{port}", token)
            with pytest.raises(UnavailableError, match="/api/v1/models: answered 409"):
                load(f"http://127.0.0.1:{port}", token)
        (audit,) = sites.open_client(site, token_of(site)).get("/api/v1/audits").json()["items"]
    assert (audit["state"], audit["pack"], audit["model_name"]) == (
        "queued",
        "strict",
        "Marriage survey",
    )


def token_of(site):
    """Return somebody else of the same organisation."""
    with site.reading() as unit:
        home = unit.connection.exec_driver_sql("SELECT id FROM organisation").scalar_one()
    return sites.add_account(site, home, "vic", "viewer")


class Collector(BaseHTTPRequestHandler):
    """Takes what is sent to a collector of traces."""

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, data))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def collector():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.taken = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_trace_names_the_route_and_not_what_was_searched_for(tmp_path, collector):
    pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
    with sites.make_site("sqlite", tmp_path, otlp_endpoint=endpoint) as site:
        app = application(site)
        provider = trace_where_asked(app, site.settings)
        TestClient(app).get("/api/v1/models?name=canary-7f3")
        TestClient(app).get("/healthz")
        provider.shutdown()
    ((path, data),) = collector.taken
    assert path == "/v1/traces"
    assert b"/api/v1/models" in data
    assert b"canary" not in data
    assert b"healthz" not in data


def test_nothing_is_traced_where_nobody_collects(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site:
        assert trace_where_asked(application(site), site.settings) is None


def test_a_level_of_logging_that_there_is_not_is_refused():
    with pytest.raises(SetupError, match="is not a level; choose one of debug, info"):
        log_as_json("loud")
