"""Tests that servers of the tests do not get each other's ports."""

from harness.redis_server import free_port


def test_no_port_is_given_twice():
    # Several of them would be equal if they were only free.
    ports = [free_port() for _ in range(120)] + [free_port(bus=True) for _ in range(40)]
    taken = {*ports, *(port + 10_000 for port in ports[120:])}
    assert len(set(ports)) == len(ports)
    assert len(taken) == len(ports) + 40, "a bus port is a port of another server"
