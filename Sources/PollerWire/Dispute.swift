/// A dispute as the upstream has it now, with its payment.
///
/// *Format* (unknown fields are left out; the amount in the currency's smallest unit):
/// ```
/// {"id":"dp_1","account":"default","status":"needs_response","open":true,"amount":1099,"currency":"eur",
///  "reason":"fraudulent","charge":"ch_1","created_at":"2026-11-20T09:30:00.000Z",
///  "due_at":"2026-11-29T23:59:59.000Z","source":"src_1","kind":"source","order":"A77"}
/// ```
public struct Dispute: WireObject, Hashable {
    /// The upstream's ID.
    public var id = ""
    /// The account at the upstream.
    public var account = ""
    /// The status, with the upstream's name.
    public var status = ""
    /// Whether it still has to be answered.
    public var needsResponse = false
    /// Whether the dispute is not final yet.
    public var isOpen = false
    /// The disputed amount.
    public var amount: Int?
    /// Three letters, lower case.
    public var currency: String?
    /// The reason given.
    public var reason: String?
    /// The disputed charge.
    public var charge: String?
    /// When it was opened.
    public var createdAt: Time?
    /// The deadline for an answer; nil when it can no longer be answered.
    public var dueAt: Time?
    /// The watch of the payment; nil for a payment that is not watched.
    public var source: String?
    /// The kind of that object.
    public var kind: Open<Kind>?
    /// The shop's order, if given.
    public var order: String?

    package init() {}

    package static let shape = Shape<Dispute>("Dispute") {
        Field("id", \.id)
        Field("account", \.account)
        Field("status", \.status, note: "As the upstream names it.")
        Field("needs_response", \.needsResponse, note: "It has to be answered until due_at.")
        Field("open", \.isOpen, note: "Something may still happen to it.")
        Field("amount", \.amount, .count, note: "In the currency's smallest unit.")
        Field("currency", \.currency)
        Field("reason", \.reason, note: "The reason given, such as fraudulent.")
        Field("charge", \.charge)
        Field("created_at", \.createdAt)
        Field(
            "due_at",
            \.dueAt,
            note: "Until when it can be answered; left out when it no longer can."
        )
        Field("source", \.source, note: "Of the watch; left out for a payment that is not watched.")
        Field("kind", \.kind, note: "Of the watch.")
        Field("order", \.order, note: "The shop's order, if given.")
    }
}

/// The disputes of some accounts, those with the nearest deadline first.
public struct DisputeList: WireObject, Hashable {
    /// An account with disputes that could not be read.
    public struct Unread: WireObject, Hashable {
        /// The account.
        public var account = ""
        /// The reason of the failure.
        public var reason = ""

        package init() {}

        package static let shape = Shape<Unread> {
            Field("account", \.account)
            Field("reason", \.reason)
        }
    }

    /// The disputes.
    public var data: [Dispute] = []
    /// Accounts with disputes that could not be read, each with the reason.
    public var unread: [Unread] = []
    /// The time of the read from the upstream: a minute ago at most.
    public var readAt = Time(ms: 0)

    package init() {}

    package static let shape = Shape<DisputeList>("DisputeList") {
        Field("data", \.data, note: "Those with the nearest deadline first.")
        Field("unread", \.unread, note: "Accounts whose disputes could not be read.")
        Field("read_at", \.readAt, note: "When they were read from the upstream.")
    }
}
