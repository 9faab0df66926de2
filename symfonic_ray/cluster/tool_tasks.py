"""The executor's dispatcher over Ray tasks: its settings, and what it keeps from one batch to the next.

Everything that happens to a batch is in ``tool_batch``; this starts no Ray and admits no call.
"""

from __future__ import annotations

from collections.abc import Sequence

import ray

from symfonic_ray.cluster.tool_batch import BatchTerms, ToolBatch
from symfonic_ray.cluster.tool_machines import MachineWatch
from symfonic_ray.cluster.tool_route import ToolRoutes
from symfonic_ray.execution import AdmittedCall, Emit, RetrySchedule, ToolOutcome

IN_FLIGHT = 16  # public case D28; what stands behind the tools is seldom built for more from one turn
NUM_CPUS = 0.5  # 1/32 of a core started that many cold workers at once, which took 1.6 to 8 s (DESIGN 6)
TEXT_BYTES = 1 << 20
VALUE_BYTES = 8 << 20


class RayToolDispatcher:
    """Runs tool calls as Ray tasks; see ``Dispatcher`` for the port.

    Calls of ``shared`` tools go a few tasks at a time, run together in each, and each outcome comes as it is there.
    Calls of ``task`` tools, and of tools that name resources, have a task each; many calls of an idempotent blocking
    one are chunked. Tools that belong to this process, or cannot be pickled, run in it, and the trace says so.
    Ray repeats nothing. Not promised: context variables do not reach a tool in another process, and a tool is sent as
    it is when it is first called, so what is changed in it later is not seen there. Module globals of a worker are
    shared by the calls that it runs. A tool that runs a batch of its own holds its cores meanwhile.

    One dispatcher serves any number of batches at once, of one connection with Ray, in the driver or in a host.
    """

    def __init__(
        self,
        *,
        in_flight: int = IN_FLIGHT,
        num_cpus: float = NUM_CPUS,
        text_bytes: int = TEXT_BYTES,
        value_bytes: int = VALUE_BYTES,
    ) -> None:
        """Hold the settings.

        Args:
            in_flight: how many calls of one batch are out at once, at least 1; those in this process count too.
            num_cpus: cores that a task holds whose tool names none.
            text_bytes: of UTF-8; a longer result is cut, with a mark that tells its size.
            value_bytes: pickled; a ``WithheldValue`` stands for a larger value, and for one that cannot be pickled.
        Raises:
            ValueError: for a bound below 1, or a negative number of cores.
        """
        for name, bound in (("in_flight", in_flight), ("text_bytes", text_bytes), ("value_bytes", value_bytes)):
            if bound < 1:
                raise ValueError(f"{name} is {bound}; give at least 1")
        if num_cpus < 0:
            raise ValueError(f"num_cpus is {num_cpus:g}; give 0 or more")
        self._terms = BatchTerms(in_flight=in_flight, text_bytes=text_bytes, value_bytes=value_bytes)
        self._routes = ToolRoutes(num_cpus)
        self._machines = MachineWatch()

    async def dispatch(
        self, admitted: Sequence[AdmittedCall], *, retries: RetrySchedule, emit: Emit
    ) -> Sequence[ToolOutcome]:
        """Run every call and answer each, in the order given; see ``Dispatcher``.

        Raises:
            RuntimeError: where this process has not joined a Ray; none is started by itself.
            asyncio.CancelledError: when the run is cancelled; nothing is left running then.
        """
        if not ray.is_initialized():
            raise RuntimeError("tool tasks need a Ray that this process has joined; enter Cluster.connect() first")
        machines = await self._machines.current()
        routes = [self._routes.of(one) for one in admitted]
        return await ToolBatch(admitted, routes, machines, terms=self._terms, retries=retries, emit=emit).run()
