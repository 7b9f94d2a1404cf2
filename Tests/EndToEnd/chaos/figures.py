"""The figures of a chaos run."""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field


@dataclass
class Figures:
    """The counts of a run.

    `lost`, `doubled`, `disordered` and `false` must be 0.
    """

    store: str
    seed: int
    seconds: float = 0
    sources: int = 0
    changes: int = 0
    recorded: int = 0
    told: int = 0
    delivered: int = 0
    mails: int = 0
    repeated: int = 0
    rewound: int = 0
    stray: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    false: int = 0
    refusals: int = 0
    detours: int = 0
    faults: dict[str, int] = field(default_factory=Counter)
    noticed_ms: dict[str, float] = field(default_factory=dict)
    splits: dict[str, object] = field(default_factory=dict)
    fsck: str = ""

    def json(self) -> str:
        return json.dumps(asdict(self))

    def text(self) -> str:
        """Returns the figures as an aligned table."""
        rows = [
            ("store, seed", f"{self.store}, {self.seed}"),
            ("seconds of faults", f"{self.seconds:.0f}"),
            ("sources", f"{self.sources:,}"),
            ("changes made", f"{self.changes:,}"),
            ("recorded", f"{self.recorded:,}"),
            ("to be delivered", f"{self.told:,}"),
            ("delivered", f"{self.delivered:,} and {self.repeated:,} repeats"),
            ("mails", f"{self.mails:,}"),
            ("recorded anew after a failover", f"{self.rewound:,}"),
            ("recorded by masters replaced before", f"{self.stray:,}"),
            ("lost / doubled / out of order", f"{self.lost} / {self.doubled} / {self.disordered}"),
            ("false", f"{self.false}"),
            ("batches refused for a while", f"{self.refusals:,}"),
            ("connections past a dead address", f"{self.detours:,}"),
            ("change to poll, ms", json.dumps(self.noticed_ms)),
            ("faults", ", ".join(f"{n} × {kind}" for kind, n in sorted(self.faults.items()))),
            ("moved to new partitions", ", ".join(f"{n} {what}" for what, n in self.splits.items()) or "0"),
            ("fsck", self.fsck),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
