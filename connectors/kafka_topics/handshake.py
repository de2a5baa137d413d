"""Check a broker's first answers: address, TLS and user.

A client of kafka-python 3.0.12 meets an untrusted certificate, or a refused password, with retries
until its timeout and no word about the reason: a refusal that comes together with the end of the
connection is lost (`KafkaTransport` drops what it read before an end of file). So both are tried
before, on a connection of their own.

It may go when the client tells such refusals itself; tests/integration/test_secured.py says what
must be told. Until then it sends nothing but greetings, and tells errors without the broker's
words.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from typing import Any, Final

from kafka import errors as kafka_errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.kafka_settings import CLIENT_ID, KafkaSettings

_BLOCK_BYTES: Final = 65_536
_ROUNDS_MAX: Final = 4
"""SCRAM takes two, PLAIN one."""


def reach_some_broker(settings: KafkaSettings) -> None:
    """Open and close a connection to some broker.

    Raises
    ------
    OSError, kafka.errors.KafkaError
        If nobody listens at any address, or the broker does not accept the user.
    Misconfigured
        If an address cannot be one, or one side refuses the other's certificate.
    """
    options = settings.client_options()
    failure: OSError | None = None
    for server in settings.bootstrap_servers:
        address = _address(server)
        try:
            with socket.create_connection(address, timeout=settings.request_timeout_s) as plain:
                _greet(plain, server, options, settings.request_timeout_s)
        except OSError as error:
            failure = error
        else:
            return
    assert failure is not None
    raise failure


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    try:
        return host.strip("[]"), int(port)
    except ValueError:
        hint = f"{server!r} is not host:port. Correct bootstrap_servers."
        raise Misconfigured("connect", server, hint) from None


def _greet(plain: socket.socket, server: str, options: dict[str, Any], timeout_s: float) -> None:
    """Encrypt and authenticate as far as the settings say."""
    if (context := options.get("ssl_context")) is None:
        if "sasl_mechanism" in options:
            _authenticate(_Conversation(plain, timeout_s), options)
        return
    try:
        host = _address(server)[0]
        with context.wrap_socket(plain, server_hostname=host) as encrypted:
            # With TLS 1.3 a broker that refuses our certificate says so after the handshake, in
            # place of its first answer.
            conversation = _Conversation(encrypted, timeout_s)
            conversation.ask(ApiVersionsRequest(version=0))
            if "sasl_mechanism" in options:
                _authenticate(conversation, options)
    except ssl.SSLCertVerificationError as error:
        hint = (
            f"its certificate is not trusted ({error.verify_message}). Check ssl_ca_file, and that "
            "the certificate names the host in bootstrap_servers."
        )
        raise Misconfigured("connect", server, hint) from None
    except ssl.SSLEOFError:
        raise ConnectionResetError from None
    except ssl.SSLError as error:
        hint = (
            f"the TLS handshake failed ({error.reason}). Check that the port is one for "
            "TLS, and whether the broker asks for a client certificate (ssl_cert_file)."
        )
        raise Misconfigured("connect", server, hint) from None


class _Conversation:
    """One question after another, each answered within a time."""

    def __init__(self, connection: socket.socket, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._protocol = KafkaProtocol(client_id=CLIENT_ID)

    def ask(self, request: Any) -> Any:
        """Return the answer to a request.

        Raises
        ------
        OSError, kafka.errors.KafkaError
            If none comes in time, or what comes is none.
        """
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        deadline = time.monotonic() + self._timeout_s
        while block := self._connection.recv(_BLOCK_BYTES):
            try:
                responses = self._protocol.receive_bytes(block)
            except (struct.error, ValueError, LookupError) as error:
                # What kafka-python makes of bytes that are no Kafka.
                raise kafka_errors.KafkaProtocolError(type(error).__name__) from None
            for _, response in responses:
                return response
            if time.monotonic() > deadline:
                raise TimeoutError
        raise ConnectionResetError


def _authenticate(conversation: _Conversation, options: dict[str, Any]) -> None:
    """Authenticate by the mechanism of `options`.

    Raises
    ------
    kafka.errors.KafkaError
        If the broker does not take that, or does not show that it knows the password itself.
    """
    name = options["sasl_mechanism"]
    _raise_refusal(conversation.ask(SaslHandshakeRequest(version=1, mechanism=name)))
    mechanism = get_sasl_mechanism(name)(**options)
    for _ in range(_ROUNDS_MAX):
        if mechanism.is_done():
            break
        said = SaslAuthenticateRequest(version=0, auth_bytes=mechanism.auth_bytes())
        answer = conversation.ask(said)
        _raise_refusal(answer)
        try:
            mechanism.receive(answer.auth_bytes)
        except (ValueError, LookupError):
            raise kafka_errors.SaslAuthenticationFailedError from None
    if not mechanism.is_authenticated():
        raise kafka_errors.SaslAuthenticationFailedError


def _raise_refusal(answer: Any) -> None:
    """Raise the error in an answer, without the broker's words."""
    if answer.error_code:
        raise kafka_errors.for_code(answer.error_code)
