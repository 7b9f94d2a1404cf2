package import JSONText
package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// Charges a source that has become chargeable.
package protocol Charger: Sendable {
    /// Returns the default charge for watches of this account; `nil` for none.
    func defaultCharge(for account: AccountID) -> ChargeOrder?

    /// Charges a source, whose object was just read, exactly once per order.
    ///
    /// Repeated calls are safe, because they use `ChargeOrder.idempotencyKey(of:amount:currency:by:)`. `right` is the
    /// watch's right to charge the order that it names; `nil` without an order. It never throws: every failure is a
    /// result.
    func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
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
    /// `charge` is its ID, if known; `object` is the object of the watch, just read.
    func refundDuplicate(
        _ watch: Watch,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult
}

extension Charger {
    /// Returns false, as the default of a charger without refunds.
    package func refundsDuplicates(of account: AccountID) -> Bool { false }

    /// Refuses every refund, as the default of a charger without refunds.
    package func refundDuplicate(
        _ watch: Watch,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult {
        .refused("refunds are not configured")
    }

    /// Charges the source of a watch that names no order.
    package func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult {
        await charge(watch, order, by: nil, object: object, timeout: timeout)
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
    case indeterminate(String)
    /// Not charged; the attempt is repeated later, after `retryAfter` at least.
    case postponed(String, retryAfter: Duration?)
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

/// The task of a poll of a watch with an order to charge.
enum ChargeStep: Hashable, Sendable {
    /// Read the source.
    ///
    /// Then charge it if it is still chargeable, or search for its charge if it was consumed by an unknown one.
    case source
    /// Read a charge that the bank had not answered.
    case charge(ChargeID)

    /// Chooses the next step of a watch.
    ///
    /// A pending charge is read once it has consumed the source. A reusable source stays chargeable and is read once
    /// more before. Every known charge is read when a hint has reopened the watch, because its money may have moved.
    init(_ watch: Watch) {
        if watch.isReview, let id = watch.state.charge.charge {
            self = .charge(id)
        } else if case .pending(let id) = watch.state.charge,
            watch.state.status == .consumed || watch.state.step > 0
        {
            self = .charge(id)
        } else {
            self = .source
        }
    }

    /// Whether stored facts of a charge may be outdated when they are reported with its source.
    ///
    /// They are not if the previous poll, a moment ago, read the charge. The poll that finds the source consumed by its
    /// charge then needs one GET. For a hold, its release is not stored.
    static func isOld(_ watch: Watch, at now: Timestamp) -> Bool {
        if case .succeeded = watch.state.charge, watch.payment?.money == nil { return true }
        guard let last = watch.state.lastPolledAt, watch.state.step == 0, watch.state.failures == 0
        else { return true }
        return !(Duration.zero...factsLifetime).contains(now - last)
    }

    /// The age up to which stored facts of a charge may be reported again.
    private static let factsLifetime = Duration.seconds(2)

    /// The action on the charge after the source was read.
    enum Action: Hashable, Sendable {
        case charge(ChargeOrder)
        case find
    }

    /// Returns the action after this observation of the source; `nil` for none.
    ///
    /// If no charge was ordered, the charge that consumed the source is searched when its money may have moved. If the
    /// ordered charge was refused, another one has consumed the source, perhaps the shop's own. A source that stays
    /// chargeable does not show its charge, which is searched when a hint is about one (`mayBeCharged`).
    static func action(_ watch: Watch, seeing seen: Observation) -> Action? {
        if watch.state.charge == .failed, seen.status == .consumed { return .find }
        let isKnown = watch.state.charge != .none && watch.state.charge != .failed
        if watch.charge == nil, !isKnown, seen.isSteadySource, mayBeCharged(watch, seen) {
            return .find
        }
        if watch.isReview || watch.pendingHint == .money, watch.charge == nil,
            watch.state.charge == .none
        {
            return seen.status == .consumed ? .find : nil
        }
        guard let order = watch.charge, !watch.state.charge.isSettled,
            watch.state.charge.charge == nil
        else { return nil }
        switch seen.status {
        // The change is reported first, so the charge has a poll of its own.
        case .chargeable:
            let wasReported = watch.state.status == .chargeable && watch.state.detail == seen.detail
            return wasReported ? .charge(order) : nil
        case .consumed: return .find
        default: return nil
        }
    }

    /// Whether a search for the charge of a source that stays chargeable is worth a request.
    ///
    /// It is when a bank has answered, when money has moved, or in the first poll of a source with an order, which may
    /// be charged already.
    private static func mayBeCharged(_ watch: Watch, _ seen: Observation) -> Bool {
        if watch.isReview || watch.pendingHint == .outcome || watch.pendingHint == .money {
            return true
        }
        return watch.state.status == nil && watch.order != nil
    }
}

extension Observation {
    /// Whether it is a reusable Stripe source, which may be charged repeatedly.
    var isSteadySource: Bool { status == .chargeable && rank == .steady }
}
