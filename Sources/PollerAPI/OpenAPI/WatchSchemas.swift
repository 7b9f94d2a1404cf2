import Poller

// The shapes of watches, their events, and what customers and Stripe see of them.

extension Schemas {
    static let watches: [(String, SchemaNode)] = [
        ("NewWatch", newWatch),
        ("Watch", watch),
        ("WatchPage", .page(of: "Watch")),
        ("BatchResult", batchResult),
        ("Explanation", explanation),
        ("Event", event),
        ("EventPage", eventPage),
        ("WebhookResult", webhookResult),
        ("ReturnNews", returnNews),
        ("NewStreamToken", newStreamToken),
        ("StreamToken", streamToken),
    ]

    /// What `POST /v1/watches` takes, and each item of a batch.
    ///
    /// The bounds are those of the types in `Poller`, which have the last word: how fields depend on each
    /// other (a deadline and its policy, a charge and its kind) is said in sentences.
    private static let newWatch: SchemaNode = .request([
        "source": .name(255).orNull.described(
            "The id to watch; with a url it may be left out, or must be the id in it."
        ),
        "account": .name(64).orNull.with("default", "default"),
        "url": .string.with("maxLength", 2048).with("minLength", 1).orNull.described(
            """
            Where a source of a configured upstream is: it stands for the upstream's name \
            (account) and the id. URLs of no configured upstream are refused.
            """
        ),
        "kind": .choice(of: SourceKind.self).orNull.described(
            "Needed when the id has none of Stripe's prefixes: src_, pi_, seti_, ch_, py_."
        ),
        "client_secret": .name(512).with("writeOnly", true).orNull.described(
            "The source's own secret, for polls with a publishable key. Never shown again."
        ),
        "policy": .choice(["interactive", "standard", "patient"]).orNull.with("default", "standard")
            .described(
                """
                How often it is looked at: for 10m every 15s at least (interactive), for 24h \
                every 5m (standard), then every hour (patient), after a week every 6h; faster \
                after a change or a hint.
                """
            ),
        "until": .choice(of: WatchGoal.self).orNull.with("default", "settled").described(
            """
            How far the source is followed. left_pending: until the customer has done what \
            had to be done (any status of a source but pending; an intent's requires_capture \
            or an end). settled: until nothing more is to be expected, a final status or a \
            reusable source's chargeable. final: until a status that can never change. Of \
            two requests the farther holds, and an order to charge comes first.
            """
        ),
        "timeout": .span.orNull.described(
            """
            Span from now to the deadline, 1s to 90d: how long the payer is waited for. When \
            absent, what an object of Stripe's may live for, 30d; of a configured upstream \
            the policy's span: 10m, 24h or 30d. A charge of ours that is pending is followed \
            for up to 30d more.
            """
        ),
        "notify": .array(of: .notifyURL.with("maxLength", 2048)).with("maxItems", 16).orNull
            .described("Where to tell: https://, http:// or mailto:."),
        "charge": .oneOf([
            .bool, .nothing,
            .request([
                "amount": .integer(1...99_999_999_999).orNull.described(
                    "In the currency's smallest unit; the source's own when absent."
                ),
                "currency": .matching("^[a-z]{3}$").orNull.described(
                    "The source's own when absent."
                ),
                "description": .string.with("maxLength", 500).orNull,
                "statement_descriptor": .string.with("maxLength", 35).orNull,
                "metadata": .metadata(most: 49).orNull,
            ]),
        ]).described(
            """
            Charge the source, exactly once, when it becomes chargeable; sources only. A \
            first order holds: later ones change nothing. false charges nothing, not even by \
            the account's standing order.
            """
        ),
        "metadata": .metadata(most: 50).orNull.described("Up to 4,096 bytes as JSON."),
    ]).with("anyOf", [["required": ["source"]], ["required": ["url"]]])

    /// A watch as it stands; members that may be absent are those that not every watch has.
    private static let watch: SchemaNode = .record(
        [
            "id": .string,
            "source": .string,
            "kind": .shape("Kind"),
            "account": .string,
            "state": .choice(["open", "closed"]),
            "status": .string.orNull,
            "final": .bool.described("The status cannot change any more."),
            "seq": .int.described("Events recorded so far."),
            "run": .int,
            "attempts": .int,
            "created_at": .shape("Time"),
            "deadline_at": .shape("Time"),
            "next_poll_at": .shape("Time").orNull,
            "last_polled_at": .shape("Time").orNull,
            "policy": .string,
            "until": .choice(of: WatchGoal.self).described("How far the source is followed."),
            "notify": .array(of: .string),
            "metadata": .map(of: .string),
        ],
        optional: [
            "closed_reason": .choice(of: ClosedReason.self),
            "last_error": .string,
            "object": .object.described(
                """
                The upstream's object at the last change, of its status or of what is waited for \
                beside it.
                """
            ),
            "charge": .record([
                "state": .choice(["none", "doubtful", "pending", "succeeded", "failed"]),
                "id": .string.orNull.described("ch_… or py_…"),
            ]).described("Only when it is to be charged."),
            "outcome": .choice(["created", "restarted", "joined"]).described(
                "Only in the answer to POST."
            ),
        ]
    )

    /// One line for each item that was not a duplicate.
    private static let batchResult: SchemaNode = .record([
        "created": .int,
        "restarted": .int,
        "joined": .int,
        "duplicates": .int.described("Items left out because an equal one came before."),
        "data": .array(
            of: .record([
                "source": .string,
                "account": .string,
                "outcome": .choice(["created", "restarted", "joined"]),
                "run": .int,
                "seq": .int,
            ])
        ),
    ])

    /// Why a watch is not polled right now; its place decides which of the optional members there are.
    private static let explanation: SchemaNode = .record(
        [
            "source": .string,
            "account": .string,
            "kind": .shape("Kind"),
            "place": .choice(["waiting", "leased", "closed"]),
            "earliest_poll_at": .shape("Time").orNull.described(
                """
                As far as is known now; null when only a person or the end of the poll in flight \
                can tell.
                """
            ),
            "reasons": .array(of: .string).described(
                "What it waits for, one sentence each, the most important first."
            ),
            "crashes": .count.described(
                "Workers in a row that vanished with it in hand; at 5 it goes to quarantine."
            ),
            "lane": .shape("Lane"),
        ],
        optional: [
            "due_at": .shape("Time"),
            "urgent": .bool.described("It is served before the others of its lane."),
            "ahead": .count.described("Watches of its lane to be served before it."),
            "owner": .string.described("Who has it in hand; see /v1/workers."),
            "until": .shape("Time"),
            "closed_reason": .string,
        ]
    )

    /// An event as it is recorded: webhooks, streams and Redis carry the same.
    private static let event: SchemaNode = .record(
        [
            "id": .string.described("The same on every channel; dedupe by it."),
            "type": .string.with("examples", ["source.chargeable", "watch.expired"]),
            "account": .string,
            "source": .string,
            "kind": .shape("Kind"),
            "seq": .int,
            "run": .int,
            "previous_status": .string.orNull.described(
                """
                The last one told before. The same as status when something else has changed \
                that is waited for: an error or a next action of an intent, an amount received \
                or returned, attempts remaining.
                """
            ),
            "status": .string.orNull,
            "final": .bool.described(
                "The status cannot change any more: the payment has come to its end."
            ),
            "closed_reason": .choice(of: ClosedReason.self).orNull.described(
                """
                Why the watch ended with this event; null while it goes on. No further event of \
                this run follows.
                """
            ),
            "object": .object.orNull,
            "observed": .record([
                "polled_at": .shape("Time"),
                "lag_ms": .int,
            ]),
        ],
        optional: [
            "charge": .record([
                "state": .choice(["doubtful", "pending", "succeeded", "failed"]),
                "id": .string.orNull.described("ch_… or py_…"),
            ]).described(
                "How far its charge has come; only once somebody has tried to charge it."
            )
        ]
    )

    /// A page of events; `next` is a seq or a cursor, by the list it belongs to.
    private static let eventPage: SchemaNode = .record([
        "data": .array(of: .shape("Event")),
        "has_more": .bool,
        "next": .string.orNull,
        "gap": .bool.described("Events before these are no longer kept: read the watches anew."),
    ])

    /// What became of a webhook, for whoever reads the list of deliveries in Stripe's dashboard.
    ///
    /// Nothing else is in it: it goes to a caller whom only a signature has let in.
    private static let webhookResult: SchemaNode = .record(
        [
            "result": ["enum": ["accepted", "duplicate", "ignored"]]
        ],
        optional: [
            "hinted": .int.described("Open watches that are due now."),
            "enqueued": .int.described("Unknown sources that are watched from now on."),
            "reason": .string,
        ]
    ).with("additionalProperties", false)

    /// What a customer's open page is told; the words are ready to be shown.
    private static let returnNews: SchemaNode = .record([
        "state": .choice(of: ReturnState.self),
        "seq": .int,
        "title": .string,
        "text": .string,
        "done": .bool,
    ])

    /// What the holder may hear: each part narrows it, and the account is always one.
    private static let newStreamToken: SchemaNode = .request([
        "account": .name(64).orNull.with("default", "default"),
        "sources": .array(of: .name(255)).with("minItems", 1).with("maxItems", 20).orNull.described(
            "Of these sources only."
        ),
        "types": .array(of: .matching("^[a-z0-9_.-]{1,128}([.][*])?$")).with("minItems", 1).with(
            "maxItems",
            20
        ).orNull.described("Of these types only, such as source.chargeable or source.*."),
        "view": .choice(["public", "full"]).orNull.with("default", "public").described(
            """
            public shows what the customer of a source may see; full shows events as they \
            were recorded.
            """
        ),
        "ttl": .shape("Span").orNull.described("1s to 1h; 10m when absent."),
    ]).described("What the holder may hear; what is absent does not narrow it.")

    /// The token, shown only here, and its end.
    private static let streamToken: SchemaNode = .record([
        "token": .string.described(
            """
            Shown as {"op":"auth","token":…}, as Authorization: Bearer …, or as subprotocol \
            poller.token.…; never in a URL.
            """
        ),
        "expires_at": .shape("Time"),
    ])
}
