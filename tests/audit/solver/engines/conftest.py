"""Ray on this machine lets in only who has a token, which is kept in no file; read when Ray is first imported."""

import os
import secrets

os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
