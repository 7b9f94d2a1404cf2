/// A dispute in its current state at the upstream, with its payment.
///
/// *Format* (unknown fields are left out; the amount in the currency's smallest unit):
/// ```
/// {"id":"dp_1","account":"default","status":"needs_response","open":true,"amount":1099,"currency":"eur",
///  "reason":"fraudulent","charge":"ch_1","created_at":"2026-11-20T09:30:00.000Z",
///  "due_at":"2026-11-29T23:59:59.000Z","source":"src_1","kind":"source","order":"A77"}
/// ```
public struct Dispute: WireObject, Hashable {
    /// The ID at the upstream.
    public var id = ""
    /// The account at the upstream.
    public var account = ""
    /// The upstream's status.
    public var status = ""
    /// Whether the dispute needs a response.
    public var needsResponse = false
    /// Whether the dispute is not final yet.
    public var isOpen = false
    /// The disputed amount.
    public var amount: Int?
    /// The currency, in three lowercase letters.
    public var currency: String?
    /// The reason given.
    public var reason: String?
    /// The disputed charge.
    public var charge: String?
    /// The creation time.
    public var createdAt: Time?
    /// The deadline for a response; `nil` when no response is possible any more.
    public var dueAt: Time?
    /// The watched source of the payment; `nil` for a payment that is not watched.
    public var source: String?
    /// The kind of the source.
    public var kind: Open<Kind>?
    /// The shop's order ID, if given.
    public var order: String?

    package init() {}

    package static let shape = Shape<Dispute>("Dispute") {
        Field("id", \.id)
        Field("account", \.account)
        Field("status", \.status).note("The upstream's status.")
        Field("needs_response", \.needsResponse).note("Whether a response is required by due_at.")
        Field("open", \.isOpen).note("Whether the dispute can still change.")
        Field("amount", \.amount, .count).note("In the currency's smallest unit.")
        Field("currency", \.currency)
        Field("reason", \.reason).note("The cardholder's reason, such as fraudulent.")
        Field("charge", \.charge)
        Field("created_at", \.createdAt)
        Field("due_at", \.dueAt)
            .note("The deadline of the response. Left out if the dispute no longer accepts one.")
        Field("source", \.source)
            .note("The watch's source. Left out for a payment without a watch.")
        Field("kind", \.kind).note("The watch's kind.")
        Field("order", \.order).note("The shop's order, if given.")
    }
}

/// The disputes of some accounts, sorted by deadline.
public struct DisputeList: WireObject, Hashable {
    /// An account whose disputes could not be read.
    public struct Unread: WireObject, Hashable {
        /// The account.
        public var account = ""
        /// The error.
        public var reason = ""

        package init() {}

        package static let shape = Shape<Unread> {
            Field("account", \.account)
            Field("reason", \.reason)
        }
    }

    /// The disputes.
    public var data: [Dispute] = []
    /// The accounts whose disputes could not be read.
    public var unread: [Unread] = []
    /// The time of the read from the upstream, at most a minute ago.
    public var readAt = Time(ms: 0)

    package init() {}

    package static let shape = Shape<DisputeList>("DisputeList") {
        Field("data", \.data).note("Disputes, nearest deadline first.")
        Field("unread", \.unread).note("Accounts whose disputes could not be read.")
        Field("read_at", \.readAt).note("When the disputes were read from the upstream.")
    }
}
