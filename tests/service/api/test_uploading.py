import hashlib

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from tests.kit.service.tables import files
from treewarden.service.api._uploading import FileField, receive_form
from treewarden.service.errors import ServiceError
from treewarden.service.site import Site

DATA = b"age,sick\r\n--boundary\r\n41,canary-7f3\r\n" * 3000
FIELDS = {
    "model_file": FileField("model"),
    "table_file": FileField("table"),
    "output_files": FileField("table", "output", most_files=3),
}
TYPE = "multipart/form-data; boundary=boundary9"


def part(name, value=b"", file_name=None, more=""):
    file = "" if file_name is None else f'; filename="{file_name}"'
    head = f'--boundary9\r\nContent-Disposition: form-data; name="{name}"{file}\r\n{more}\r\n'
    return head.encode() + value + b"\r\n"


END = b"--boundary9--\r\n"
WHOLE = part("name", "loan ü".encode()) + part("table_file", DATA, "C:\\data\\people.csv") + END


def form_of(site, who):
    """Return a client of a page that says what it received."""
    app = FastAPI()

    @app.post("/")
    async def post(request: Request):
        try:
            form = await receive_form(request, site, who, FIELDS)
        except ServiceError as error:
            return {"status": error.status, "problem": str(error)}
        files = {
            name: [part for file in kept for part in (file.file_name, file.size, file.digest)]
            for name, kept in form.files.items()
        }
        return {"status": 200, "fields": form.fields, "files": files}

    client = TestClient(app)

    def send(content, kind=TYPE, **headers):
        headers = {"Content-Type": kind} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }
        return client.post("/", content=content, headers=headers).json()

    return send


def limited(site, **limits):
    return Site(site.settings.model_copy(update=limits), site.engine, site.vault)


def test_a_form_goes_into_the_vault_as_it_arrives(site, ann):
    found = form_of(site, ann)(WHOLE)
    digest = hashlib.sha256(DATA).hexdigest()
    assert found == {
        "status": 200,
        "fields": {"name": "loan ü"},
        "files": {"table_file": ["people.csv", len(DATA), digest]},
    }
    (kept,) = files(site)
    assert b"canary" not in kept.read_bytes()


def test_a_field_that_takes_several_files_keeps_each_under_its_name(site, ann):
    sent = [part("output_files", DATA[:size], f"{size}.csv") for size in (10, 20)]
    found = form_of(site, ann)(b"".join(sent) + END)
    assert found["files"]["output_files"][::3] == ["10.csv", "20.csv"]
    assert len(files(site)) == 2


def test_a_field_takes_no_more_and_no_larger_files_than_it_says(site, ann):
    four = b"".join(part("output_files", DATA[:size], "a.csv") for size in range(1, 5))
    found = form_of(site, ann)(four + END)
    assert (found["status"], "takes 3 files at most" in found["problem"]) == (413, True)
    found = form_of(site, ann)(part("output_files", bytes(4_000_001), "a.csv") + END)
    assert found["status"] == 413
    assert not files(site)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_does_not_matter_how_a_form_is_cut_into_pieces(site, ann, size):
    data = part("name", b"loan") + part("table_file", DATA[:3000], "people.csv") + END
    found = form_of(site, ann)(data[at : at + size] for at in range(0, len(data), size))
    assert found["files"]["table_file"][1] == 3000


def test_a_file_that_was_not_chosen_is_none(site, ann):
    found = form_of(site, ann)(part("table_file", b"", "") + part("name", b"") + END)
    assert found == {"status": 200, "fields": {"name": ""}, "files": {}}
    assert not files(site)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (WHOLE[: -len(END)], 422),
        (WHOLE[:2000], 422),
        (b"", 422),
        (b"no form at all", 422),
        (part("table_file", DATA, "a") + part("table_file", DATA, "b") + END, 422),
        (part("table_file", DATA, "a") + part("name", b"a") + part("name", b"b") + END, 422),
        (part("table_file", DATA, "a") + part("other", DATA, "b") + END, 422),
        (part("table_file", DATA, "a") + part("name", b"\xff") + END, 422),
        (part("table_file", DATA, "a") + part("") + END, 422),
        (part("table_file", DATA, "a") + part("n" * 300) + END, 422),
        (part("table_file", DATA, "a") + part("name", b"a", more="X: y\r\n" * 100) + END, 422),
        (
            part("table_file", DATA, "a")
            + part("name", b"a", more="X: " + "y" * 9999 + "\r\n")
            + END,
            422,
        ),
        (part("table_file", DATA, "a") + part("name", bytes(70_000)) + END, 413),
        (part("table_file", DATA, "a") + b"".join(part(f"f{n}") for n in range(300)) + END, 413),
        (part("table_file", DATA * 9, "a") + END, 413),
        (part("model_file", bytes(5001), "a") + END, 413),
        (part("table_file", DATA, "a") + END + bytes(900_000), 413),
    ],
)
def test_a_form_that_cannot_be_leaves_nothing(site, ann, content, status):
    small = limited(site, max_body=65_536, max_model=5000, max_table=2 * len(DATA))
    for sent in (content, iter([content])):
        found = form_of(small, ann)(sent)
        assert found["status"] == status, found
        assert "canary" not in found["problem"]
    assert not files(site)


@pytest.mark.parametrize(
    "headers",
    [
        {"kind": "application/x-www-form-urlencoded"},
        {"kind": "multipart/form-data"},
        {"kind": "multipart/form-data; boundary=" + "b" * 71},
        {"kind": "multipart/mixed; boundary=boundary9"},
        {"Content_Encoding": "gzip"},
    ],
)
def test_other_kinds_of_bodies_are_not_taken(site, ann, headers):
    assert form_of(site, ann)(WHOLE, **headers)["status"] == 415


def test_names_of_files_are_one_line_without_folders(site, ann):
    for sent, told in (
        ("../../etc/passwd", "passwd"),
        ("a\tb\u202e.csv", "ab.csv"),
        ("/", "unnamed"),
    ):
        found = form_of(site, ann)(part("table_file", b"data", sent) + END)
        assert found["files"]["table_file"][0] == told
