"""What schemathesis has to be told to call this API: how lines of JSON are sent."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    """The description says that the body is text, so it is sent as it stands."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.deserializer("application/x-ndjson")
def text(_context, response):
    """And so is the answer."""
    return response.content.decode("utf-8")
