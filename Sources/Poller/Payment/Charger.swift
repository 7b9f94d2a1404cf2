package import JSONText
package import PollerIdentity

/// Takes the money of a source that has become chargeable.
package protocol Charger: Sendable {
    /// What to charge for watches of this account that say nothing; nil: nothing.
    func standingOrder(for account: AccountID) -> ChargeOrder?

    /// Charges a source, whose object was seen a moment ago, exactly once for an order however
    /// often this is called: always with ``ChargeOrder/idempotencyKey(of:amount:currency:by:)``.
    ///
    /// `right` is the watch's right to charge the order that it names; nil when it names none. Never
    /// throws: whatever happens is one of the results.
    func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
        by right: ChargeRight?,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult

    /// Looks for the charge that consumed a source, or was made of one that stays chargeable.
    ///
    /// Answers `made`, `declined` when there is none (it has seen the end), or why it cannot tell.
    func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult

    /// Whether money that an order was paid with a second time goes back by itself.
    func refundsDuplicates(of account: AccountID) -> Bool

    /// Gives back all that is left of a charge which has paid an order that was paid, exactly once however
    /// often this is called.
    ///
    /// `charge` is its id, where that is known; `object` what was seen of the watch a moment ago.
    func refundDuplicate(
        _ watch: Watch,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult
}

extension Charger {
    /// Nothing goes back unless somebody wants it.
    package func refundsDuplicates(of account: AccountID) -> Bool { false }

    /// Nobody has asked for it.
    package func refundDuplicate(
        _ watch: Watch,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult {
        .refused("nothing here refunds")
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

/// The right to charge what an order asks for, as ``OrderBook/take(_:)`` has given it.
package struct ChargeRight: Hashable, Sendable {
    package let order: OrderID
    /// How many times it has gone to a source.
    package let number: Int

    /// Describes a right.
    package init(order: OrderID, number: Int) {
        self.order = order
        self.number = number
    }
}

/// What came of one try to charge a source.
package enum ChargeResult: Hashable, Sendable {
    /// There is a charge, made now or by an earlier try.
    case made(ChargeSeen)
    /// Refused for good, by the bank or by the upstream: never for want of an answer, nor for one
    /// that could not be read.
    ///
    /// `code` is a stable word such as `card_declined`, `reason` the issuer's such as
    /// `insufficient_funds`, when there is one.
    case declined(code: String, reason: String? = nil)
    /// Not made, because the card's customer must confirm it first; with the source that they confirm, or
    /// nil when nobody here could make one.
    case unauthenticated(SecureTry?)
    /// Not enough has arrived at a receiver: charge it when the rest has come.
    case incomplete(received: Amount, wanted: Amount)
    /// Whether it was made is not known; the same key must be tried again.
    case indeterminate(String)
    /// Certainly not made; try again later, after `retryAfter` at least.
    case postponed(String, retryAfter: Duration?)
}

/// A charge as it was really seen.
package struct ChargeSeen: Hashable, Sendable {
    /// What the bank says.
    package enum Status: String, Hashable, Sendable {
        case pending, succeeded, failed
    }

    package let id: ChargeID
    package let status: Status
    /// The upstream's object as it came.
    package let object: RawJSON?

    /// Describes what was seen.
    package init(id: ChargeID, status: Status, object: RawJSON?) {
        self.id = id
        self.status = status
        self.object = object
    }
}

extension ChargeResult {
    /// Every ``name`` there is.
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

/// What a poll of a watch with an order to charge is there for.
enum ChargeStep: Hashable, Sendable {
    /// To look at the source; and then, when it is still chargeable, to charge it, or when it is
    /// consumed and nobody knows by what, to look for its charge.
    case source
    /// To look at the charge that the bank had not answered.
    case charge(ChargeID)

    /// What comes next for a watch.
    ///
    /// A charge that is pending is looked at once it has consumed the source; a reusable source,
    /// which stays chargeable, has then been looked at once more. Any that is known is looked at when a
    /// hint has opened the watch again: its money may have moved.
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

    /// Whether what is known of a charge may be true no more when it is told again with its source.
    ///
    /// It is not when the last look, a moment ago, was the one that has seen it: so the look that finds
    /// the source consumed by its charge is one GET. Of a hold is not remembered whether it was let go.
    static func isOld(_ watch: Watch, at now: Timestamp) -> Bool {
        if case .succeeded = watch.state.charge, watch.payment?.money == nil { return true }
        guard let last = watch.state.lastPolledAt, watch.state.step == 0, watch.state.failures == 0
        else { return true }
        return !(Duration.zero...wordSpan).contains(now - last)
    }

    /// How old what was seen of a charge may be when it is told again.
    private static let wordSpan = Duration.seconds(2)

    /// What is to be done about the charge after the source was seen; nil: nothing.
    enum Action: Hashable, Sendable {
        case charge(ChargeOrder)
        case find
    }

    /// What is to be done now that the source was seen so.
    ///
    /// What has used up a source that nobody ordered to charge is looked for when its money may have
    /// moved; and one whose charge was refused was used up by another, perhaps the shop's own. A source that
    /// stays chargeable does not show that it was charged: its charge is looked for when there is news of one
    /// (`mayBeCharged`).
    static func action(_ watch: Watch, seeing seen: Observation) -> Action? {
        if watch.state.charge == .failed, seen.status == .consumed { return .find }
        let isKnown = watch.state.charge != .none && watch.state.charge != .failed
        if watch.charge == nil, !isKnown, seen.isSteadySource, mayBeCharged(watch, seen) {
            return .find
        }
        if watch.isReview || watch.news == .money, watch.charge == nil, watch.state.charge == .none
        {
            return seen.status == .consumed ? .find : nil
        }
        guard let order = watch.charge, !watch.state.charge.isSettled,
            watch.state.charge.charge == nil
        else { return nil }
        switch seen.status {
        // The change is told first: the charge then has a poll of its own.
        case .chargeable:
            let isTold = watch.state.status == .chargeable && watch.state.detail == seen.detail
            return isTold ? .charge(order) : nil
        case .consumed: return .find
        default: return nil
        }
    }

    /// Whether a search for the charge of a source that stays chargeable is worth a request: a bank has answered, money
    /// has moved, or this is the first poll of a source of an order, which may be charged already.
    private static func mayBeCharged(_ watch: Watch, _ seen: Observation) -> Bool {
        if watch.isReview || watch.news == .outcome || watch.news == .money { return true }
        return watch.state.status == nil && watch.order != nil
    }
}

extension Observation {
    /// A reusable source of Stripe's that may be charged again and again.
    var isSteadySource: Bool { status == .chargeable && rank == .steady }
}
