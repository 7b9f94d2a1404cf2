package import JSONText
package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// Charges a source that has become chargeable.
package protocol Charger: Sendable {
    /// Returns the default charge for watches of this account; `nil` for none.
    func defaultCharge(for account: AccountID) -> ChargeInstruction?

    /// Returns why a source, whose object was just read, cannot be charged yet; `nil` if it can be.
    ///
    /// The object alone decides, so nothing is sent. ``charge(_:_:by:object:timeout:)`` returns the same result for
    /// such an object.
    func obstacle(to instruction: ChargeInstruction, object: RawJSON) -> ChargeResult?

    /// Charges a source, whose object was just read, exactly once per order.
    ///
    /// Repeated calls are safe, because they use `ChargeInstruction.idempotencyKey(of:amount:currency:by:)`. `right` is
    /// the watch's right to charge the order that it names; `nil` without an order. It never throws: every failure is a
    /// result.
    func charge(
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        by right: ChargeRight?,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult

    /// Searches for the charge that consumed a source, or was made from one that stays chargeable.
    ///
    /// Returns `made`, `declined` when the complete list contains none, or the reason why the result is unknown.
    func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult

    /// Whether the second payment of an order is refunded automatically.
    func refundsDuplicates(of account: AccountID) -> Bool

    /// Refunds the rest of a charge that paid an order a second time, exactly once for any number of calls.
    ///
    /// `first` is the attempt whose payment stays. If both watches show the same charge, nothing is refunded.
    /// `charge` is its ID, if known; `object` is the object of the watch, just read.
    func refundDuplicate(
        _ watch: Watch,
        of first: WatchKey,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult
}

extension Charger {
    /// Returns `nil`, as the default of a charger for which each chargeable source has all that it needs.
    package func obstacle(to _: ChargeInstruction, object: RawJSON) -> ChargeResult? { nil }

    /// Returns false, as the default of a charger without refunds.
    package func refundsDuplicates(of account: AccountID) -> Bool { false }

    /// Refuses every refund, as the default of a charger without refunds.
    package func refundDuplicate(
        _ watch: Watch,
        of first: WatchKey,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult {
        .refused("refunds are not configured")
    }
}

/// The result of one attempt to charge a source.
package enum ChargeResult: Hashable, Sendable {
    /// A charge exists, made now or by an earlier attempt.
    case made(ObservedCharge)
    /// Refused permanently by the bank or the upstream; never for a missing or unreadable answer.
    ///
    /// `code` is a stable code such as `card_declined`. `reason` is the issuer's, such as `insufficient_funds`, if
    /// there is one.
    case declined(code: String, reason: String? = nil)
    /// Not charged, because the cardholder must authenticate first.
    ///
    /// The value is the source for that; `nil` if none could be created.
    case unauthenticated(ThreeDSecureSource?)
    /// A receiver has not received enough; it is charged when the rest has arrived.
    case incomplete(received: Amount, wanted: Amount)
    /// Whether it was charged is unknown; the same key must be tried again.
    ///
    /// `attempt` identifies the key (`WatchState.chargeAttempt`); `nil` if it is unknown.
    case indeterminate(String, attempt: String? = nil)
    /// Not charged; the attempt is repeated later, after `retryAfter` at least.
    ///
    /// `isCertain`: no request of this attempt can have charged, now or later, because none was executed.
    case postponed(String, retryAfter: Duration?, isCertain: Bool = false)
}

extension ChargeResult {
    /// All values of ``name``.
    package static let names = [
        "made", "declined", "unauthenticated", "incomplete", "indeterminate", "postponed",
    ]

    /// The class of the result, for logs and metrics.
    package var name: String {
        switch self {
        case .made: "made"
        case .declined: "declined"
        case .unauthenticated: "unauthenticated"
        case .incomplete: "incomplete"
        case .indeterminate: "indeterminate"
        case .postponed: "postponed"
        }
    }
}
