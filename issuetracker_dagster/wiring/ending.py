"""How a process of the code location ends: without a last look through all that was imported."""

import atexit
import gc


def end_quickly() -> None:
    """Leave what lives at the end of this process to the operating system; safe to call again.

    The interpreter would collect garbage among some hundred thousand objects that go anyway. It costs about a second of
    a core, which the five runs and the servers of a stop take at the same time.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
