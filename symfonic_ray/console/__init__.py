"""A live view of a pool in a browser on this machine: what runs, what waits, what failed; freeze and cancel."""

from symfonic_ray.console.serving import Console, serve_console

__all__ = ["Console", "serve_console"]
