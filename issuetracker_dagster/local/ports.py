"""Free TCP ports on the loopback interface. A port that a service had before is preferred, so that URLs stay valid."""

import socket

LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now; connections in TIME_WAIT don't count as taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def is_listening(port: int) -> bool:
    """Whether something accepts connections on this loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((LOOPBACK, port)) == 0


def choose_ports(count: int, preferred: tuple[int, ...] = ()) -> tuple[int, ...]:
    """`count` different ports that are free now: those of `preferred` that still are, in place, else any free ones.

    The probes stay open until all are chosen, so that two of them are never the same.
    """
    chosen: list[int] = []
    probes: list[socket.socket] = []
    try:
        for index in range(count):
            wanted = preferred[index] if index < len(preferred) else 0
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            probes.append(probe)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, wanted))
            except OSError:
                probe.bind((LOOPBACK, 0))
            chosen.append(probe.getsockname()[1])
    finally:
        for probe in probes:
            probe.close()
    return tuple(chosen)
