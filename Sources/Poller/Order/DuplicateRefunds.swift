package import PollerIdentity
package import PollerQueue

/// Refunds the second payment of an order, if the account is configured to (`refund_duplicates`).
///
/// ```
/// order.paid_twice in the outbox ─▶ note: every attempt that has overpaid is hinted
/// its watch is polled            ─▶ the stored order still shows it: refunded, with a key of the order
/// the refund has succeeded       ─▶ payment.refunded, reason duplicate, and stored in that commit
/// the refund is pending          ─▶ refund.pending, and payment.refunded once it has succeeded
/// ```
///
/// *What is refunded*: the later payments (``OrderPayment/alsoPaidBy``); the first one stays.
///
/// *Exactly once*: after a crash before the acknowledgement of the outbox entry, the next reader handles it, and a
/// second hint finds the payment refunded. After a crash between refund and commit the watch stays open, and the next
/// worker sends the same idempotency key. Once the upstream has deleted the key, it rejects a second refund of one
/// charge on its own. A refunded duplicate is marked (``ChargeFacts/isDuplicate``) and never refunded again: if the
/// bank lets the refund fail, an operator decides.
///
/// *What is not refunded*: a cancelled or dead watch is not reopened, so its money stays; `order.paid_twice` has
/// reported it.
package struct DuplicateRefunds: Sendable {
    private let accounts: @Sendable () -> Set<AccountID>
    private let orders: OrderService
    private let watches: any WatchStore

    /// Creates a value that hints the duplicates of `orders` in `watches`, for the accounts that are configured to
    /// refund.
    package init(
        accounts: @escaping @Sendable () -> Set<AccountID>,
        orders: OrderService,
        watches: any WatchStore
    ) {
        self.accounts = accounts
        self.orders = orders
        self.watches = watches
    }

    /// Whether an event reports duplicates to be refunded.
    func concerns(_ event: Event) -> Bool {
        event.order != nil && event.key.kind == .order && event.type == "order.paid_twice"
            && accounts().contains(event.key.account)
    }

    /// Hints the duplicates of an order, when an event reports some.
    package func note(_ event: Event) async throws(StoreError) {
        guard concerns(event), let name = event.order else { return }
        let key = OrderKey(account: event.key.account, order: name)
        for duplicate in try await orders.duplicates(of: key) {
            _ = try await watches.hint(duplicate, of: .money)
        }
    }
}

/// The result of requesting a refund.
package enum RefundResult: Hashable, Sendable {
    /// Refunded by this request or an earlier one.
    case made
    /// The refund exists and has not succeeded yet.
    case underway(RefundProgress.Status)
    /// The refund was made, but the bank let it fail; an operator must act, and it is not requested again.
    case failed(String)
    /// Refused permanently; an operator must act.
    case refused(String)
    /// Not known to be made; the request is repeated later, with the same key.
    case postponed(String, retryAfter: Duration?)
}

extension RefundResult {
    /// Whether a refund exists, so that no other is requested.
    var isTried: Bool {
        switch self {
        case .made, .underway, .failed: true
        case .refused, .postponed: false
        }
    }
}

extension OrderID {
    /// Returns the idempotency key for the refund of one attempt to pay the order, which is always the same.
    package func refundKey(of key: WatchKey) -> String {
        let named = ["\(key.account)", "refund", description, key.kind.rawValue, "\(key.source)"]
        return "poller-refund:\(Digest.base64url(of: named, bytes: 18))"
    }
}

extension OrderService {
    /// Returns the attempts that paid an order that was already paid.
    package func duplicates(of key: OrderKey) async throws(StoreError) -> [WatchKey] {
        try await order(key)?.summary.alsoPaidBy ?? []
    }
}

extension PollDecider {
    /// Decides on a refund that could not be made yet: the same poll is repeated later.
    func refundPostponed(
        _ context: PollContext,
        _ reason: String,
        _ retryAfter: Duration?,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &generator)
        let error = "its order was paid twice, and the duplicate is not refunded yet: \(reason)"
        return failed(context, state, wait, error: error)
    }
}

extension PaymentFacts {
    /// Returns the facts with the refund of a duplicate payment.
    ///
    /// They have the mark that it was tried, even if the refund is not complete or has failed.
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
