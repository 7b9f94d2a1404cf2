import Poller

// The shapes of lanes, processes and counts.

extension Schemas {
    static let cluster: [(String, SchemaNode)] = [
        ("Lane", lane),
        ("LaneLimit", laneLimit),
        ("NewLaneLimit", newLaneLimit),
        ("LanePage", .page(of: "Lane")),
        ("Counts", counts),
        ("Stats", stats),
        ("Worker", worker),
        ("WorkerPage", .page(of: "Worker")),
        ("Doctor", doctor),
    ]

    /// A lane as it stands at this moment.
    ///
    /// Three members are optional because a change that leaves nothing of a lane, neither work nor a
    /// setting, is answered without them.
    private static let lane: SchemaNode = .record(
        [
            "id": .string.described("ACCOUNT/ENDPOINT."),
            "state": .choice(of: LaneState.self).described("In one word; what holds it up most."),
            "waiting": .count.described("Watches that wait for their due time or for the lane."),
            "overdue": .count.described("Of those, due already."),
            "overdue_ms": .count.described("How long the longest overdue one has been due."),
            "in_flight": .count,
            "limit": .shape("LaneLimit"),
            "paused": .bool,
            "factor": .double.with("minimum", 0).with("maximum", 1).described(
                "What is left of the limit after a 429; it grows back by 0.05 a second."
            ),
            "failures": .count.described("Polls in a row without an answer."),
            "circuit": .choice(["closed", "open", "probing"]),
        ],
        optional: [
            "oldest_due_at": .shape("Time").orNull,
            "held_until": .shape("Time").orNull.described("Nothing goes out before."),
            "partition": .int,
        ]
    )

    /// What holds for a lane now; in an answer a rate of 0 is "no limit".
    private static let laneLimit: SchemaNode = .record([
        "rate": .double.described("Polls a second; 0 is no limit."),
        "burst": .int.described(
            """
            Polls that may follow each other at once. Within any second there are at most \
            rate + burst.
            """
        ),
        "concurrency": .int.described("Polls in flight at once."),
        "default": .bool.described("The lane has no limit of its own."),
    ])

    /// Two forms that exclude each other: parts of a limit, at least one of them, or the default.
    ///
    /// Told as two objects and not as one with optional members: a fuzzer, and a client made from this,
    /// would otherwise send an empty change, which is refused.
    private static let newLaneLimit: SchemaNode = .oneOf([
        .request([
            "rate": .oneOf([
                .nothing, ["const": 0],
                .double.with("minimum", .decimal(0.001)).with("maximum", 1_000_000),
            ]).described("A second; 0 for no limit."),
            "burst": .integer(1...1_000_000).orNull,
            "concurrency": .integer(1...1_000_000).orNull,
            "default": ["enum": [false, nil]],
        ]).with(
            "anyOf",
            [
                ["required": ["rate"], "properties": ["rate": ["not": ["type": "null"]]]],
                ["required": ["burst"], "properties": ["burst": ["not": ["type": "null"]]]],
                [
                    "required": ["concurrency"],
                    "properties": ["concurrency": ["not": ["type": "null"]]],
                ],
            ]
        ),
        .request(
            [
                "rate": .nothing,
                "burst": .nothing,
                "concurrency": .nothing,
                "default": ["const": true],
            ],
            required: ["default"]
        ),
    ]).described("What is absent or null stays as it is.")

    /// One queue's counts; `StoreStats` says what each means.
    private static let counts: SchemaNode = .record([
        "pending": .int,
        "overdue": .int,
        "leased": .int,
        "closed": .int,
        "outbox": .int,
        "undelivered": .int,
        "lanes": .int,
    ])

    /// Both queues and who works on them.
    private static let stats: SchemaNode = .record([
        "watches": .shape("Counts"),
        "deliveries": .shape("Counts"),
        "lanes": .record([
            "total": .count,
            "paused": .count,
            "open": .count,
            "probing": .count,
            "held": .count,
            "slowed": .count,
            "flowing": .count,
            "complete": .bool.described(
                "False when there are more lanes than were counted (10,000)."
            ),
        ]).described("Lanes of watches by state."),
        "oldest_overdue_ms": .count.described("How long the longest overdue watch has been due."),
        "quarantined": .count.described("Watches that a person must look at."),
        "workers": .count.described("Processes that poll."),
        "notifiers": .count.described("Processes that deliver."),
    ])

    /// A process, in whatever roles; it vanishes from the list when it stops announcing itself.
    private static let worker: SchemaNode = .record([
        "id": .string.described("As explain names the holder of a lease."),
        "roles": .array(of: .choice(["worker", "notifier", "api"])),
        "host": .string,
        "pid": .int,
        "version": .string,
        "started_at": .shape("Time"),
        "in_flight": .count.described("Items in its hands when it announced itself last."),
    ])

    /// The answer is 200 whatever the checks saw, so `healthy` is what a probe looks at.
    private static let doctor: SchemaNode = .record([
        "healthy": .bool,
        "checks": .array(
            of: .record([
                "name": .string,
                "status": .choice(["ok", "warning", "failed"]),
                "message": .string,
                "action": .string.orNull,
            ])
        ),
    ])
}
