"""Fleet files: read, checked whole, every problem with its file and line. Imports pydantic; starts nothing."""

from symfonic_ray.config.errors import ConfigError, ConfigProblem
from symfonic_ray.config.fleet import FleetConfig, load_fleet
from symfonic_ray.config.import_strings import ImportStringError, resolve

__all__ = ["ConfigError", "ConfigProblem", "FleetConfig", "ImportStringError", "load_fleet", "resolve"]
