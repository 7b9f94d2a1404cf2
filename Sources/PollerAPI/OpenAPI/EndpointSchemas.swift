import Poller

// The shapes of endpoints, and of mails that came back.

extension Schemas {
    static let endpoints: [(String, SchemaNode)] = [
        ("NewEndpoint", newEndpoint),
        ("EndpointChange", endpointChange),
        ("Endpoint", endpoint),
        ("EndpointPage", .page(of: "Endpoint")),
        ("EndpointTest", endpointTest),
        ("EndpointRotation", endpointRotation),
        ("EndpointDisabling", endpointDisabling),
        ("InlineSecret", inlineSecret),
        ("EndpointHealth", endpointHealth),
        ("Bounce", bounce),
        ("Suppression", suppression),
    ]

    /// Where an endpoint is.
    private static let url: SchemaNode = .notifyURL.with("maxLength", 2048).described(
        """
        https://…, mailto:name@host or redis+stream:NAME. It may be changed, but not \
        from webhook to another scheme or back.
        """
    )

    /// What an endpoint is made with and what may be changed of it, with the same words.
    private static let settings: [(String, SchemaNode)] = [
        (
            "types",
            .array(of: .eventType.with("maxLength", 128)).with("maxItems", 50).orNull.described(
                """
                Event types such as source.chargeable, or source.* for all that begin so; empty \
                for all.
                """
            )
        ),
        (
            "sources",
            .array(of: .name(255)).with("maxItems", 100).orNull.described(
                "Only events of these sources; empty for all of the account."
            )
        ),
        (
            "metadata",
            .metadata(most: 10).orNull.described("What the watch's metadata must hold, all of it.")
        ),
        ("final_only", .bool.orNull.described("Only how watches end.")),
        (
            "ordering",
            .choice(["source"]).orNull.described("The events of one source arrive in order.")
        ),
        (
            "coalesce",
            .bool.orNull.described(
                "After a failure only the newest of what waits is told, and the end."
            )
        ),
        (
            "retry",
            .oneOf([
                .choice(["default", "fast", "none"]),
                .array(of: .shape("Span")).with("minItems", 1).with("maxItems", 20), .nothing,
            ]).described(
                "default, fast, none, or 1 to 20 waits of at least 1s, 7d in all."
            )
        ),
        (
            "timeout",
            .shape("Span").orNull.described(
                "For one attempt, 1s to 30s; null for the channel's own."
            )
        ),
        (
            "limit",
            .shape("NewLaneLimit").orNull.described("Null for what holds for every endpoint.")
        ),
        (
            "headers",
            .map(of: .matching("^[ -~]*$").with("maxLength", 2048)).with("maxProperties", 20).with(
                "propertyNames",
                ["pattern": "^[A-Za-z0-9_-]{1,64}$"]
            ).orNull.described(
                """
                Sent with every request. Names that belong to HTTP or to us are refused; values \
                are never shown again.
                """
            )
        ),
        (
            "payload",
            .choice(of: Endpoint.Payload.self).orNull.described(
                "thin: the event without its object."
            )
        ),
        (
            "notify_by",
            .oneOf([
                .request(
                    [
                        "within": .shape("Span"),
                        "endpoint": .endpointID.described("An endpoint of the same account."),
                    ],
                    required: ["within", "endpoint"]
                ), .nothing,
            ]).described(
                "Another endpoint is told what this one has not accepted in time."
            )
        ),
    ]

    private static let newEndpoint: SchemaNode = .request(
        [("account", .name(64).orNull.with("default", "default")), ("url", url)] + settings,
        required: ["url"]
    )

    private static let endpointChange: SchemaNode = .request([("url", url.orNull)] + settings)

    /// What is told of an endpoint.
    ///
    /// `secret` is in the answers that made one; `health` where one endpoint is read.
    private static let endpoint: SchemaNode = .record(
        [
            "id": .string,
            "account": .string,
            "name": .string.orNull.described(
                """
                What it is called in the server's configuration file; null when it was made \
                through this API.
                """
            ),
            "url": .string,
            "state": .choice(["enabled", "disabled"]),
            "types": .array(of: .string),
            "sources": .array(of: .string),
            "metadata": .map(of: .string),
            "final_only": .bool,
            "ordering": .choice(["source"]),
            "coalesce": .bool,
            "retry": .oneOf([.choice(["default", "fast", "none"]), .array(of: .string)]),
            "timeout": .shape("Span").orNull,
            "limit": .shape("LaneLimit").orNull,
            "headers": .map(of: .choice(["(redacted)"])),
            "payload": .choice(of: Endpoint.Payload.self),
            "notify_by": .oneOf([
                .record([
                    "within": .shape("Span"),
                    "endpoint": .string,
                ]), .nothing,
            ]),
            "secrets": .array(
                of: .record([
                    "expires_at": .shape("Time").orNull
                ])
            ).described(
                "Those that sign right now or did, newest first, without their values."
            ),
            "created_at": .shape("Time"),
            "updated_at": .shape("Time"),
        ],
        optional: [
            "secret": .string.described("whsec_…; only in the answers to creation and rotation."),
            "disabled_reason": .string,
            "disabled_at": .shape("Time"),
            "health": .shape("EndpointHealth"),
        ]
    )

    /// What became of a test, the words of an attempt without those of a schedule.
    private static let endpointTest: SchemaNode = .record([
        "delivered": .bool,
        "class": .string.described(
            """
            ok, redirect, gone, unauthorized, not_found, rate_limited, client_error, \
            server_error, timeout, reset, connect, tls, dns, blocked, unusable, deferred, \
            refused or local.
            """
        ),
        "code": .int.orNull.described("The HTTP or SMTP status."),
        "address": .string.orNull,
        "duration_ms": .int.orNull,
        "reason": .string.orNull,
        "excerpt": .string.orNull.described("The beginning of the answer."),
    ])

    /// May be left out, as the whole body may.
    private static let endpointRotation: SchemaNode = .request([
        "overlap": .shape("Span").orNull.described(
            "How long the old secrets go on signing, 0s to 7d; 24h when it is absent."
        )
    ])

    /// The reason is shown to whoever looks at the endpoint later.
    private static let endpointDisabling: SchemaNode = .request([
        "reason": .matching(#"^[^\x00-\x1f]*$"#).with("minLength", 1).with("maxLength", 200).orNull
    ])

    /// The one secret that is shown again: inline URLs have no endpoint that could have shown it.
    private static let inlineSecret: SchemaNode = .record([
        "secret": .string
    ])

    /// How an endpoint takes what it is sent, all its deliveries together.
    private static let endpointHealth: SchemaNode = .record([
        "circuit": .choice(["closed", "open", "probing"]).described(
            "Whether attempts go out: as they should, not at all, or one at a time."
        ),
        "held_until": .shape("Time").orNull.described(
            "Nothing goes out before: Retry-After, or an open circuit."
        ),
        "failures": .count.described("Failed attempts in a row, of all its deliveries."),
        "failing_since": .shape("Time").orNull.described(
            "The first attempt that failed since one was accepted."
        ),
        "disabled_at_the_latest": .shape("Time").orNull.described(
            "When a registered endpoint is disabled, unless it accepts something before."
        ),
        "paused": .bool.described("It is disabled, or an operator has stopped it."),
        "waiting": .count.described("Deliveries that wait for their time or for the endpoint."),
        "in_flight": .count.described("Attempts being made."),
    ])

    /// What a relay's bounce processing knows of a mail; nothing of the mail itself.
    private static let bounce: SchemaNode = .request(
        [
            "recipient": .mailAddress.described("A mail address."),
            "type": .choice(["hard_bounce", "soft_bounce", "complaint"]),
        ],
        required: ["recipient", "type"]
    )

    /// Whether and why somebody is sent nothing; never for which mail.
    private static let suppression: SchemaNode = .record([
        "recipient": .string,
        "suppressed": .bool,
        "reason": .choice(of: SuppressionReason.self).orNull,
    ])
}
