package import PollerIdentity
package import PollerPayments

/// A request to watch a source, checked and ready for the store.
package struct NewWatch: Hashable, Sendable {
    /// The limit of recipients per request.
    ///
    /// Each event costs a delivery to each recipient.
    package static let notifyMax = 16
    /// The limit of recipients per watch, over all requests that joined it.
    ///
    /// A request that exceeds it is rejected.
    package static let notifyKeptMax = 64
    /// The size limit of metadata as JSON, in bytes.
    package static let metadataBytesMax = 4096

    package let key: WatchKey
    package var options: WatchOptions
    /// The span from now to the deadline.
    package let timeout: Duration
    package let notify: [NotifyURL]
    package let clientSecret: ClientSecret?
    /// A JSON object of strings, as sent; empty when there is none.
    package let metadata: String
    /// The charge to make when the source is chargeable; `nil` for the default of the account, or no charge.
    package let charge: ChargeInstruction?
    /// The shop's order ID.
    ///
    /// The first one stays until a closed watch is restarted.
    package let order: OrderID?

    /// Checks the rules that span several fields.
    ///
    /// Each field has been checked on its own.
    ///
    /// `timeout` is 1 s to 90 days. `nil` selects the lifetime of the kind, or else the span of the policy.
    package init(
        key: WatchKey,
        policy: PollPolicy = .auto,
        goal: WatchGoal = .settled,
        timeout: Duration? = nil,
        notify: [NotifyURL] = [],
        clientSecret: ClientSecret? = nil,
        metadata: String = "",
        charge: ChargeInstruction? = nil,
        acts: DeadlineActs = .unset,
        order: OrderID? = nil
    ) throws(InvalidInput) {
        let timeout = timeout ?? key.kind.life ?? policy.span
        guard timeout >= .seconds(1), timeout <= .seconds(90 * 86_400) else {
            throw InvalidInput("timeout", "must be between 1s and 90d")
        }
        guard notify.count <= Self.notifyMax else {
            throw InvalidInput(
                "notify",
                "names \(notify.count) endpoints; at most \(Self.notifyMax) are allowed"
            )
        }
        guard metadata.utf8.count <= Self.metadataBytesMax else {
            throw InvalidInput("metadata", "is larger than \(Self.metadataBytesMax) bytes as JSON")
        }
        guard charge?.isNothing ?? true || key.kind == .source else {
            throw InvalidInput(
                "charge",
                "is for sources (src_…); Poller does not charge a \(key.kind.rawValue)"
            )
        }
        guard goal != .leftPending || key.kind != .http else {
            throw InvalidInput(
                "until",
                "left_pending is for Stripe's objects; an upstream's `final` statuses end "
                    + "its watches"
            )
        }
        try acts.check(key.kind)
        self.charge = charge
        self.order = order
        self.key = key
        options = WatchOptions(policy: policy, goal: goal, acts: acts)
        self.timeout = timeout
        self.notify = notify
        self.clientSecret = clientSecret
        self.metadata = metadata
    }
}

extension SourceKind {
    /// The longest time in which a Stripe object can still change; `nil` for other upstreams.
    ///
    /// Thirty days: a voucher can be paid for days, a bank transfer takes as long, and a SEPA debit is answered within
    /// 14 business days. An intent never expires. If Stripe ends an object earlier (a redirect after an hour,
    /// `SourceLifetime`), its watch ends then. *Source*: the page of each method below
    /// <https://docs.stripe.com/sources>.
    package var life: Duration? {
        switch self {
        case .source, .paymentIntent, .setupIntent, .charge: .seconds(30 * 86_400)
        case .http, .other: nil
        }
    }
}
