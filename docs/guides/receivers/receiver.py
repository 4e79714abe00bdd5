"""A receiver of Daybook's webhooks that uses only Python's standard library.

    DAYBOOK_HMAC_KEY=... PORT=8000 python3 receiver.py

DAYBOOK_HMAC_KEY is the key that GET /organization/hmac_key returns; during a rotation, both keys, separated by a
space. PORT 0 picks a free port. Prints one line for each message.
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEYS = os.environ["DAYBOOK_HMAC_KEY"].split()
MOST_BYTES = 8 * 1024 * 1024
TOLERANCE_S = 5 * 60
# In production, use a table with a unique column.
SEEN = set()


def signature(key, signed):
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


def cut(body):
    """The bytes of `data` and the signature, exactly as in the body."""
    head, comma, rest = body.partition(b',"data":')
    data, comma_too, tail = rest.rpartition(b',"hmac_signature":"')
    if not (comma and comma_too and head.startswith(b'{"event":"') and tail.endswith(b'"}')):
        raise ValueError("no message")
    return data, tail[:-2]


def body_is_ours(body):
    data, given = cut(body)
    # The key is the text itself.
    return any(hmac.compare_digest(signature(key.encode(), data), given) for key in KEYS)


def header_is_ours(headers, body):
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > TOLERANCE_S:
        return False
    signed = f"{headers.get('webhook-id', '')}.{sent_at}.".encode() + body
    given = [one[3:].encode() for one in headers.get("webhook-signature", "").split() if one.startswith("v1,")]
    # The key is the bytes that the text decodes to.
    expected = [signature(base64.b64decode(key), signed) for key in KEYS]
    return any(hmac.compare_digest(ours, theirs) for ours in expected for theirs in given)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > MOST_BYTES:
            self.close_connection = True
            return self.answer(413, "refused: too long")
        body = self.rfile.read(length)
        try:
            is_ours = header_is_ours(self.headers, body) and body_is_ours(body)
        except ValueError:
            is_ours = False
        if not is_ours:
            # Not 401: that would pause the subscription.
            return self.answer(400, "refused")
        message = json.loads(body)
        event_id = message["data"]["event_id"]
        word = "duplicate" if event_id in SEEN else "verified"
        # Store the message here, and process it after the response.
        SEEN.add(event_id)
        self.answer(200, f"{word} {message['event']} {event_id}")

    def answer(self, status, line):
        # In one write, because other threads print too.
        print(line + "\n", end="", flush=True)
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Receiver)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()
