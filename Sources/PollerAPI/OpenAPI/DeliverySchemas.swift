import Poller

// The shapes of deliveries, their attempts and replays.

extension Schemas {
    static let deliveries: [(String, SchemaNode)] = [
        ("Delivery", delivery),
        ("DeliveryPage", .page(of: "Delivery")),
        ("Attempt", attempt),
        ("AttemptPage", .page(of: "Attempt")),
        ("NewReplay", newReplay),
        ("Replay", replay),
    ]

    /// A delivery is one source's events on their way to one endpoint, in order; so its state is about the
    /// event in hand.
    ///
    /// `endpoint_health` is in the answers about one delivery, not in lists: it costs a read each.
    private static let delivery: SchemaNode = .record(
        [
            "id": .string,
            "endpoint": .string,
            "url": .string.orNull.described("Of an inline notify."),
            "account": .string,
            "source": .string,
            "kind": .shape("Kind"),
            "state": .choice(of: DeliverySnapshot.State.self).described(
                """
                dead: something was given up and nothing is tried any more; done: everything was \
                accepted.
                """
            ),
            "last_seq": .count.described(
                "The seq of the last event that was accepted or given up."
            ),
            "failures": .count.described(
                "Failed attempts of the event in hand, as its schedule counts them."
            ),
            "attempts": .count.described("Attempts ever made."),
            "dead_seqs": .array(of: .int).described("Events given up, the newest 20."),
            "retrying_seqs": .array(of: .int).described("Of those, the ones being sent again."),
            "failing_since": .shape("Time").orNull.described(
                "When the event in hand failed first."
            ),
            "next_attempt_at": .shape("Time").orNull.described(
                "When it is due; with endpoint_health not before its hold ends."
            ),
            "last_error": .string.orNull,
        ],
        optional: [
            "endpoint_health": .shape("EndpointHealth")
        ]
    )

    /// What is on record of one attempt; its milliseconds tell DNS, the network and the receiver apart.
    private static let attempt: SchemaNode = .record([
        "at": .shape("Time"),
        "event": .string,
        "seq": .int,
        "number": .int.with("minimum", 1).described("1 for the first attempt of the event."),
        "outcome": .choice(["delivered", "failed", "rejected"]),
        "class": .choice([
            "ok", "redirect", "gone", "unauthorized", "not_found", "rate_limited", "client_error",
            "server_error", "timeout", "reset", "connect", "tls", "dns", "blocked", "unusable",
            "deferred", "refused", "poison", "local",
        ]),
        "code": .int.orNull.described("The HTTP or SMTP status."),
        "address": .string.orNull.described("The address that was connected, with its port."),
        "ms": .record([
            "resolve": .int.orNull,
            "connect": .int.orNull,
            "first_byte": .int.orNull,
            "total": .int.orNull,
        ]).described("Where the time went, as far as it is known."),
        "reason": .string.orNull,
        "excerpt": .string.orNull.described(
            """
            The first KiB of the answer, control characters made harmless; null when it was \
            accepted.
            """
        ),
    ])

    /// A body may be left out: then it is what was given up, at the standard rate.
    private static let newReplay: SchemaNode = .request([
        "status": .choice(of: ReplayJob.Choice.self).orNull.with("default", "dead").described(
            "Events given up; or every event since a time, accepted or not."
        ),
        "since": .shape("Time").orNull.described("Only events recorded since; required for all."),
        "rate": .integer(1...10_000).orNull.with("default", 100).described("Deliveries a second."),
        "dry_run": .bool.orNull.with("default", false).described("Only count."),
    ])

    /// How far a job has come.
    private static let replay: SchemaNode = .record([
        "endpoint": .string,
        "state": .choice(["running", "finished", "failed"]),
        "status": .choice(of: ReplayJob.Choice.self),
        "since": .shape("Time").orNull.described("Only events recorded since."),
        "rate": .int,
        "dry_run": .bool,
        "looked_at": .count.described("Deliveries looked at so far."),
        "matched": .count.described("Of those, the ones that have something to send again."),
        "events": .count.described("Events that they send again."),
        "busy": .count.described(
            "Deliveries that were being tried all the while, and so were left as they are."
        ),
        "error": .string.orNull.described("Why it failed."),
    ])
}
