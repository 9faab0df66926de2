"""What a submission would do, as words and as one JSON object: what is sent, what stays at home, what is set.

Names of variables only; their values are in neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symfonic_ray.jobs import Parcel, megabytes

_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPlan:
    """A submission before it is made."""

    submission_id: str
    parcel: Parcel
    entrypoint: str
    """The command that the cluster runs."""
    runtime_env: dict[str, Any]
    """As Ray takes it. Any: it has many forms."""
    secrets: tuple[str, ...]
    """Variables that the cluster has to have."""

    def as_object(self) -> dict[str, Any]:
        """Everything as plain JSON data."""
        contents = self.parcel.contents
        return {
            "submission_id": self.submission_id,
            "entrypoint": self.entrypoint,
            "working_dir": str(contents.root.resolve()),
            "files": len(contents.files),
            "bytes": contents.size_bytes,
            "bytes_in_all": self.parcel.size_bytes,
            "largest_folders": [{"name": name, "bytes": size} for name, size in contents.largest_folders()],
            "left_out": [{"name": left.name, "why": left.why, "bytes": left.size_bytes} for left in contents.left_out],
            "package_files": len(self.parcel.package),
            "tasks_bytes": None if self.parcel.tasks is None else self.parcel.tasks.size_bytes,
            "environment": self._variables(),
            "secrets": list(self.secrets),
            "runtime_env": self._others(),
        }

    def as_text(self) -> str:
        """The same for a reader, a fact a line."""
        parcel, contents = self.parcel, self.parcel.contents
        rows = [
            ("job", self.submission_id),
            ("runs", self.entrypoint),
            ("sends", f"{len(contents.files):,} files, {megabytes(contents.size_bytes)}, of {contents.root.resolve()}"),
        ]
        rows += [("", f"{megabytes(size):>9}  {name}") for name, size in contents.largest_folders()]
        if parcel.package:
            size = sum(file.size_bytes for file in parcel.package)
            rows.append(("and", f"this version of symfonic-ray, {megabytes(size)}"))
        if parcel.tasks is not None:
            rows.append(("and", f"the tasks {parcel.tasks.source}, {megabytes(parcel.tasks.size_bytes)}"))
        for place, left in enumerate(contents.left_out[:_LISTED]):
            name = "leaves out" if not place else ""
            rows.append((name, f"{megabytes(left.size_bytes):>9}  {left.name} ({left.why})"))
        if len(contents.left_out) > _LISTED:
            rows.append(("", f"and {len(contents.left_out) - _LISTED} more; --json lists all"))
        rows.append(("sets", ", ".join(self._variables())))
        if self.secrets:
            rows.append(("needs there", ", ".join(self.secrets)))
        if self._others():
            rows.append(("runtime env", ", ".join(self._others())))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {words}" for name, words in rows)

    def _variables(self) -> list[str]:
        return sorted(self.runtime_env["env_vars"])

    def _others(self) -> list[str]:
        return sorted(name for name in self.runtime_env if name != "env_vars")
