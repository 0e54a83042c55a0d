"""ENV: the host. If it is as slow without speculation, it is here."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="ENV",
    title="host and hardware",
    causes=(
        Cause(
            id="ENV-1",
            title="slow reduction between GPUs (PCIe, custom all-reduce off)",
            seen="GPUs fully busy at low power; a fixed time in every forward; slow without speculation too",
            check="time an all-reduce of 8 to 64 KB inside a graph; tensor parallel 1 against n; the topology",
            predicts="milliseconds a forward go into reductions",
            fix="fewer GPUs or those under one switch, NVLink pairs, one-shot kernels where they are allowed",
            engines=("sglang", "vllm", "trtllm"),
            reports=3,
        ),
        Cause(
            id="ENV-2",
            title="peer access returns wrong data after a change of driver or BIOS",
            seen="since a driver update or reboot: one word repeated, nothing accepted, almost no speed",
            check="start with --disable-custom-all-reduce; verify a copy between two GPUs",
            predicts="the text is right again",
            fix="that flag, then IOMMU and ACS settings, another driver",
            engines=("vllm", "sglang"),
            severity="wrong output",
            reports=1,
        ),
        Cause(
            id="ENV-3",
            title="clocks or power held down",
            seen="clock and power far below their limits under load; unequal cards",
            check="clocks, power and clock-event reasons while decoding",
            predicts="a reason is named, the clock stands below its maximum",
            fix="limits and clocks back, reset, cooling",
            reports=1,
        ),
        Cause(
            id="ENV-4",
            title="CPU or NUMA binding, or a weak CPU",
            seen="decode several times slower with equal configuration; one socket busy; a straggler that changes",
            check="affinity and memory of the ranks; run again bound",
            predicts="the bound run is faster and steadier",
            fix="bind at the launch (numactl, --numa-bind)",
            reports=2,
        ),
        Cause(
            id="ENV-5",
            title="GPU in an error state",
            seen="reset required, Xid, ECC errors",
            check="the full GPU status",
            predicts="it names the error",
            fix="reset or replace the card",
            severity="wrong output",
            reports=1,
        ),
        Cause(
            id="ENV-6",
            title="speed fixed when the process starts",
            seen="two speeds, one per start",
            check="several restarts; eager",
            predicts="the speed changes with the start and not during it",
            fix="restart until fast; look for what differs between the starts",
            reports=1,
        ),
    ),
)
