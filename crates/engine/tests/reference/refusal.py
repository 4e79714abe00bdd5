class Refused(Exception):
    """An input that a release refuses."""
