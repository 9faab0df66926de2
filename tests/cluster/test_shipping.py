"""What can cross to a host, and the way to what cannot. No Ray cluster here."""

from __future__ import annotations

import functools
import socket
import threading
from typing import Any

import pytest

from symfonic_ray.cluster.shipping import UnshippableError, shipped, unshipped
from tests.cluster import children


class Holder:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def build(self, scope: Any) -> Any:
        return self.inner


def closes_over(thing: Any) -> Any:
    def build(scope: Any) -> Any:
        return thing

    return build


def defaults_to(thing: Any) -> Any:
    def build(scope: Any, held: Any = thing) -> Any:
        return held

    return build


CULPRITS = {
    "a variable": (lambda lock: closes_over(lock), "build -> variable 'thing'"),
    "a default": (lambda lock: defaults_to(lock), "build -> default 0"),
    "deep in data": (lambda lock: closes_over({"a": [1, Holder(lock)]}), "build -> variable 'thing'['a'][1].inner"),
    "a bound method": (lambda lock: Holder(lock).build, "build.__self__.inner"),
    "a partial": (lambda lock: functools.partial(closes_over, lock), "build.args[0]"),
    "a function's function": (
        lambda lock: closes_over(closes_over(lock)),
        "build -> variable 'thing' -> variable 'thing'",
    ),
}


@pytest.mark.parametrize(("make", "path"), CULPRITS.values(), ids=CULPRITS.keys())
def test_the_error_leads_to_the_member_in_the_way(make: Any, path: str) -> None:
    with pytest.raises(UnshippableError) as caught:
        shipped(make(threading.Lock()), "build")
    assert caught.value.path == path
    assert "lock" in caught.value.cause
    assert "import string" in str(caught.value)


def test_an_open_socket_is_in_the_way_too() -> None:
    with socket.socket() as client, pytest.raises(UnshippableError, match="socket"):
        shipped(closes_over(client), "build")


def test_what_can_cross_arrives() -> None:
    assert unshipped(shipped(closes_over(7), "build"))("acme") == 7
    assert unshipped("tests.cluster.children:echo") is children.echo
    assert unshipped(shipped("tests.cluster.children:Child.run", "build")) is children.Child.run
