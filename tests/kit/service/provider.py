"""A small OpenID provider: it knows one person, checks what a real one checks, and can be told to cheat."""

import base64
import hashlib
import json
import secrets
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

CLIENT, SECRET = "treewarden", "the secret of the client"


class Provider(ThreadingHTTPServer):
    """``claims`` are added to those of the next ID token; ``signs`` is (header, key) where another one signs."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key = ECKey.generate_key("P-256", {"kid": "first", "use": "sig"})
        self.asked, self.claims, self.signs = {}, {}, None

    def id_token(self, nonce):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "4711", "nonce": nonce, "iat": now}
        claims |= {"exp": now + 300, "preferred_username": "ada@hospital"} | self.claims
        header, key = self.signs or ({"alg": "ES256", "kid": "first"}, self.key)
        return jwt.encode(header, claims, key, algorithms=[header["alg"]])


class Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        issuer, parts = self.server.issuer, urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            self.tell(
                {
                    "issuer": issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "jwks_uri": f"{issuer}/keys",
                }
            )
        elif parts.path == "/keys":
            self.tell({"keys": [self.server.key.as_dict(private=False)]})
        else:
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            assert asked["response_type"] == "code"
            assert asked["client_id"] == CLIENT
            assert asked["code_challenge_method"] == "S256"
            assert "openid" in asked["scope"].split()
            code = secrets.token_urlsafe(16)
            self.server.asked[code] = asked
            back = urlencode({"code": code, "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self.server.asked.pop(sent.get("code"), None)
        expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or self.headers["Authorization"] != f"Basic {expected}"
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != sent["redirect_uri"]
        ):
            self.tell({"error": "invalid_grant"}, 400)
            return
        token = self.server.id_token(asked.get("nonce"))
        self.tell({"access_token": "a", "token_type": "Bearer", "id_token": token})

    def tell(self, told, status=200):
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def provided():
    """Give a provider that answers."""
    with Provider() as provider:
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()


def shared_secret():
    """Return what an attacker would sign with who hopes that any algorithm is taken."""
    return {"alg": "HS256"}, OctKey.import_key(SECRET)


def another_key():
    """Return a key of somebody else under the name of the provider's."""
    key = ECKey.generate_key("P-256", {"kid": "first"})
    return {"alg": "ES256", "kid": "first"}, key
