package import PollerIdentity
package import PollerQueue

/// Sees to it that money that an order was paid with a second time goes back, where an account wants
/// that (`refund_duplicates`).
///
/// ```
/// order.paid_twice in the outbox ─▶ note: every try that has paid too much is hinted
/// its watch is looked at         ─▶ the stored order still says so: refunded, with a key of the order
/// the refund has succeeded       ─▶ payment.refunded, reason duplicate, and remembered in that commit
/// the refund is pending          ─▶ refund.pending, and payment.refunded once it has succeeded
/// ```
///
/// *Which goes back*: what came later (``OrderPayment/alsoPaidBy``); the first money stays.
///
/// *Exactly once*: whoever dies before the outbox entry is acknowledged leaves it to the next reader, and
/// a second hint finds the money refunded. Whoever dies between refund and commit leaves the watch open:
/// the next worker sends the same idempotency key, and once the upstream has forgotten that it refuses a
/// second refund of one charge by itself. What was refunded so is marked (``ChargeFacts/isDuplicate``) and
/// never again: where the bank lets the refund fail, a person decides.
///
/// *What stays*: a watch that was cancelled or is dead is not opened again, so its money stays where
/// it is; `order.paid_twice` has told of it.
package struct DuplicateRefunds: Sendable {
    private let accounts: @Sendable () -> Set<AccountID>
    private let orders: OrderBook
    private let watches: any WatchStore

    /// Hints in `watches` of what `orders` say, for the accounts that want it now.
    package init(
        accounts: @escaping @Sendable () -> Set<AccountID>,
        orders: OrderBook,
        watches: any WatchStore
    ) {
        self.accounts = accounts
        self.orders = orders
        self.watches = watches
    }

    /// Whether an event says that an order has duplicates that are to go back.
    func concerns(_ event: Event) -> Bool {
        event.order != nil && event.key.kind == .order && event.type == "order.paid_twice"
            && accounts().contains(event.key.account)
    }

    /// Has the duplicates of an order looked at, when an event says that it has some.
    package func note(_ event: Event) async throws(StoreError) {
        guard concerns(event), let name = event.order else { return }
        let key = OrderKey(account: event.key.account, order: name)
        for duplicate in try await orders.duplicates(of: key) {
            _ = try await watches.hint(duplicate, of: .money)
        }
    }
}

/// What came of asking for the money of a charge to go back.
package enum RefundResult: Hashable, Sendable {
    /// It went back, by this request or an earlier one.
    case made
    /// The refund exists and has not succeeded yet.
    case underway(RefundProgress.Status)
    /// It was made, and the bank has let it fail since; a person must look, and nothing is asked for again.
    case failed(String)
    /// Refused for good; a person must look.
    case refused(String)
    /// Not known to be made; try again later, with the same key.
    case postponed(String, retryAfter: Duration?)
}

extension RefundResult {
    /// Whether there is a refund, so that none is asked for again.
    var isTried: Bool {
        switch self {
        case .made, .underway, .failed: true
        case .refused, .postponed: false
        }
    }
}

extension OrderID {
    /// The idempotency key with which one try to pay the order is given back: always the same.
    package func refundKey(of key: WatchKey) -> String {
        let named = ["\(key.account)", "refund", description, key.kind.rawValue, "\(key.source)"]
        return "poller-refund:\(Digest.base64url(of: named, bytes: 18))"
    }
}

extension OrderBook {
    /// The tries that have paid an order although it was paid.
    package func duplicates(of key: OrderKey) async throws(StoreError) -> [WatchKey] {
        try await order(key)?.truth.alsoPaidBy ?? []
    }
}

extension PollDecider {
    /// Decides on a refund that could not be made yet: the same poll again, later.
    func refundPostponed(
        _ context: PollContext,
        _ reason: String,
        _ retryAfter: Duration?,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &chance)
        let error = "its order was paid twice, and this is not refunded yet: \(reason)"
        return failed(context, state, wait, error: error)
    }
}

extension PaymentFacts {
    /// The same with its money given back, as what an order was paid with a second time; with the mark that it
    /// was tried, also where the refund is not finished or has failed.
    func refundedAsDuplicate(after earlier: ChargeFacts?, _ result: RefundResult) -> PaymentFacts {
        var facts = following(earlier)
        guard var money = facts.evidence else { return facts }
        switch result {
        case .made: money.refunded = money.captured
        case .underway(let status):
            let open = max(.zero, money.captured - money.refunded)
            money.refund = RefundProgress(status, open)
        case .failed, .refused, .postponed: break
        }
        money.isDuplicate = true
        facts.charge = money
        return facts
    }
}
