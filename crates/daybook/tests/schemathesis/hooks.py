"""Extends schemathesis for this API: how to send and read lines of JSON."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    """The description declares the body as text, so it is sent unchanged."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.deserializer("application/x-ndjson")
def text(_context, response):
    """The response is text, too."""
    return response.content.decode("utf-8")
