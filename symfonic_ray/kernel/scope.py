"""Who a child works for, as one unambiguous text. Knows no pool, no actor, no path.

A scope is a string or a JSON-like structure. Its key is one-to-one: two scopes share a key only when they are equal
in value AND in type, so ``acme/a``, ``acme_a``, ``ACME/A`` and ``("acme", "a")`` are four tenants.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, TypeAlias

from symfonic_ray.kernel.text import code_point, is_invisible

Scope: TypeAlias = Any  # str, int, float, bool, list, tuple, dict of such; narrowed by scope_key

SCOPE_KEY_CHARACTERS = 128  # spec/trust.md
_STRUCTURE = "json:"
_RESERVED = frozenset({"*", ".", ".."})


class ScopeError(ValueError):
    """A scope that cannot name one tenant: says what was given, what is wrong and what to do."""

    def __init__(self, shown: str, problem: str) -> None:
        super().__init__(shown, problem)
        self.shown, self.problem = shown, problem

    def __str__(self) -> str:
        return (
            f"the scope {self.shown} {self.problem}; give a short name or a small JSON-like value that names one tenant"
        )


def scope_key(scope: Scope) -> str:
    """The one key of a scope.

    Args:
        scope: a string, or a structure of dict (string keys), list, tuple, str, int, float, bool, None.
    Returns:
        The string itself, or ``json:`` and a canonical typed encoding for a structure; at most 128 characters.
    Raises:
        ScopeError: for None, a blank or reserved text, an invisible character, NaN, a foreign type, or a key too long.
    """
    if scope is None:
        raise ScopeError("None", "names no tenant")
    if type(scope) is str:
        _check_text(scope)
        if not scope.strip() or scope in _RESERVED:
            raise ScopeError(repr(scope), "names no tenant")
        key = scope if not scope.startswith(_STRUCTURE) else _STRUCTURE + json.dumps(scope, ensure_ascii=False)
    elif type(scope) in (dict, list, tuple) and not scope:
        raise ScopeError(repr(scope), "is empty and names no tenant")
    else:
        key = _STRUCTURE + json.dumps(_typed(scope, 0), ensure_ascii=False, separators=(",", ":"))
    if len(key) > SCOPE_KEY_CHARACTERS:
        raise ScopeError(f"{key[:32]!r}...", f"has {len(key)} characters; at most {SCOPE_KEY_CHARACTERS} are allowed")
    return key


def scope_from_key(key: str) -> Scope:
    """The scope that ``key`` stands for; the inverse of ``scope_key``."""
    return key if not key.startswith(_STRUCTURE) else _untyped(json.loads(key[len(_STRUCTURE) :]))


def scope_hash(key: str) -> str:
    """16 hexadecimal digits for process titles and logs, where a tenant's name must not stand."""
    return hashlib.sha256(key.encode("utf-8")).hexdigest()[:16]


def _check_text(text: str) -> None:
    for character in text[: SCOPE_KEY_CHARACTERS + 1]:
        if is_invisible(character) or 0xD800 <= ord(character) <= 0xDFFF or character in "\u2028\u2029":
            raise ScopeError(ascii(text[:64]), f"holds {code_point(character)}, which a reader cannot see")


def _typed(value: Any, depth: int) -> Any:
    """A JSON value that keeps what JSON would lose: list or tuple, and the order of keys."""
    if depth > 8:
        raise ScopeError("(a structure)", "is nested more than 8 levels deep")
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ScopeError(repr(value), "is not a finite number")
        return value
    if type(value) is str:
        _check_text(value)
        return value
    if type(value) in (list, tuple):
        return ["l" if type(value) is list else "t", *(_typed(item, depth + 1) for item in value[:129])]
    if type(value) is dict:
        if any(type(name) is not str for name in value):
            raise ScopeError("(a mapping)", "has a key that is not a plain string")
        return ["d", *([_typed(name, depth), _typed(value[name], depth + 1)] for name in sorted(value))]
    raise ScopeError(f"of type {type(value).__name__}", "is neither a plain string nor a JSON-like value")


def _untyped(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, *items = value
    if kind == "d":
        return {name: _untyped(item) for name, item in items}
    parts = [_untyped(item) for item in items]
    return parts if kind == "l" else tuple(parts)
