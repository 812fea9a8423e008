"""Which compile server a call goes to, and with what: the same variables and files as the program qbc."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import stat
from typing import Any, Dict, Optional, Union

from .errors import ArgumentError

_MAX_SECRET_BYTES = 16 << 10
# version, trace id, parent id, flags; see https://www.w3.org/TR/trace-context/
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
                          r"(-[!-~]*)?")
_MAX_TRACEPARENT = 512


@dataclasses.dataclass(frozen=True)
class Server:
    """A compile server and what to show it. What is None comes from the variables QBC_SERVER, QBC_CONTEXT,
    QBC_TOKEN_FILE, QBC_TOKEN, QBC_TLS_CA, QBC_TLS_CERT and QBC_TLS_KEY, then from the context, then from
    what `qbc login` stored for the address.

    `address`: unix:/path, /path or host:port. `context`: a name that `qbc context set` gave; without it
    and without an address, the one in use. Files are PEM; the token's has mode 0600. Other hosts than
    this machine are called with TLS, and this machine too when `tls_ca` is there."""

    address: Optional[str] = None
    context: Optional[str] = None
    token_file: Optional[str] = None
    tls_ca: Optional[str] = None
    tls_cert: Optional[str] = None
    tls_key: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Access:
    """Everything that a connection needs; "" is none."""

    address: str
    token: str = dataclasses.field(default="", repr=False)
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    traceparent: str = ""


def chosen_access(server: Optional[Union[str, Server]]) -> Optional[Access]:
    """None: compile on this machine. `server`: an address, "" for this machine, or a Server; None: what
    QBC_SERVER or else QBC_CONTEXT names. Errors: ArgumentError for names and files that are not as they
    must be."""
    if server is None:
        server = os.environ.get("QBC_SERVER", "")
        if not server and os.environ.get("QBC_CONTEXT"):
            server = Server()
    if isinstance(server, str):
        if not server:
            return None
        server = Server(address=server)
    context = _context(server)
    address = (server.address or (context.get("server") if server.context else None)
               or os.environ.get("QBC_SERVER") or context.get("server"))
    if not address:
        raise ArgumentError("server: no address",
                            hint="name one, set QBC_SERVER, or use: qbc context use NAME")
    stored = _stored(address)

    def file(name: str) -> str:
        chosen = (getattr(server, name) or os.environ.get(f"QBC_{name.upper()}") or context.get(name)
                  or stored.get(name))
        return os.fspath(chosen or "")

    access = Access(address, _token(server, context, stored), file("tls_ca"), file("tls_cert"),
                    file("tls_key"), _traceparent())
    if bool(access.tls_cert) != bool(access.tls_key):
        raise ArgumentError("tls_cert and tls_key: expected both or neither")
    return access


def _config_file(name: str) -> str:
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not folder:
        home = os.environ.get("HOME", "")
        folder = os.path.join(home, ".config") if home else ""
    return os.path.join(folder, "qbc", name) if folder else ""


def _object(path: str, secret: bool, again: str) -> Dict[str, Any]:
    """The JSON object of a file that qbc wrote, {} when there is none."""
    if not path or not os.path.exists(path):
        return {}
    if secret:
        _refuse_readable_by_others(path)
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except OSError as error:
        raise ArgumentError(f"'{path}': {error}") from error
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ArgumentError(f"'{path}' is damaged: remove it and use {again} again")
    return value


def _refuse_readable_by_others(path: str) -> None:
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise ArgumentError(f"'{path}' may be read by others: chmod 600 it")


def _context(server: Server) -> Dict[str, str]:
    if not server.context and (server.address or os.environ.get("QBC_SERVER")):
        return {}
    path = _config_file("contexts.json")
    contexts = _object(path, False, "qbc context set")
    known = contexts.get("contexts") or {}
    name = server.context or os.environ.get("QBC_CONTEXT") or contexts.get("current") or ""
    if not name:
        return {}
    if name not in known:
        raise ArgumentError(f"there is no context '{name}'; there are: {', '.join(known) or 'none'}")
    return dict(known[name])


def _stored(address: str) -> Dict[str, str]:
    path = _config_file("credentials.json")
    return dict(_object(path, True, "qbc login").get(address) or {})


def _token(server: Server, context: Dict[str, str], stored: Dict[str, str]) -> str:
    file = server.token_file or os.environ.get("QBC_TOKEN_FILE", "")
    token = "" if file else os.environ.get("QBC_TOKEN", "")
    if not file and not token:
        file = context.get("token_file", "")
    return _secret(file) if file else token or stored.get("token", "")


def _secret(path: str) -> str:
    try:
        _refuse_readable_by_others(path)
        with open(path, "rb") as file:
            secret = file.read(_MAX_SECRET_BYTES).strip()
    except OSError as error:
        raise ArgumentError(f"token file '{path}': {error.strerror}") from error
    if not re.fullmatch(rb"[!-~]+", secret):
        raise ArgumentError(f"'{path}': expected one line of visible ASCII characters")
    return secret.decode("ascii")


def _traceparent() -> str:
    text = os.environ.get("TRACEPARENT", "")
    known = len(text) <= _MAX_TRACEPARENT and _TRACEPARENT.fullmatch(text)
    return text if known and not (text.startswith("00") and len(text) != 55) else ""
