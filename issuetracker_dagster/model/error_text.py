"""What an exception says, as logs and dead letters may hold it."""

_LIMIT = 2_000


def text_of(error: BaseException) -> str:
    """The exception's text, cut at 2,000 characters; never raises, whatever its `__str__` does."""
    try:
        return str(error)[:_LIMIT]
    except BaseException as failed:  # noqa: BLE001 - of an exception that anybody may have raised
        return f"(its text can't be had: {type(failed).__name__})"
