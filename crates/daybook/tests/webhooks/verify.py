"""Verifies collected messages as receivers in Python would: verify.py FILE.

A line of the file is {"headers", "body", "changed", "hmac_key", "header_keys"}: bodies in Base64, `changed` with one
byte changed. Prints {"messages": n}, or exits with 1 and prints which message is wrong.
"""

import base64
import hashlib
import hmac
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def body_is_ours(key, body):
    """As in the guide for frameworks that hide the raw bytes: `data` is serialized again."""
    try:
        message = json.loads(body)
        data = json.dumps(message["data"], ensure_ascii=False, separators=(",", ":"))
        expected = base64.b64encode(hmac.new(key.encode(), data.encode(), hashlib.sha256).digest()).decode()
        return hmac.compare_digest(expected.encode(), message["hmac_signature"].encode())
    except (ValueError, KeyError, TypeError):
        return False


def header_is_ours(key, headers, body):
    try:
        Webhook(key).verify(body, headers)
        return True
    except (WebhookVerificationError, UnicodeDecodeError):
        return False


count = 0
for line in open(sys.argv[1], encoding="utf-8"):
    one = json.loads(line)
    body, changed = base64.b64decode(one["body"]), base64.b64decode(one["changed"])
    good = body_is_ours(one["hmac_key"], body)
    good = good and all(header_is_ours(key, one["headers"], body) for key in one["header_keys"])
    bad = body_is_ours(one["hmac_key"], changed)
    bad = bad or any(header_is_ours(key, one["headers"], changed) for key in one["header_keys"])
    if not good or bad:
        sys.exit(f"{'refused' if not good else 'taken though changed'}: {one['headers']} {body!r} {changed!r}")
    count += 1
print(json.dumps({"messages": count}))
