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
/// *What is refunded*: the later payments (``OrderPayment/alsoPaidBy``); the first one stays. An order counts watches:
/// with watches of both an intent and its source or charge, it seems to be paid twice. That charge is not refunded.
///
/// *Exactly once*: after a crash before the acknowledgement of the outbox entry, the next reader handles it, and a
/// second hint finds the payment refunded. After a crash between refund and commit the watch stays open, and the next
/// worker sends the same idempotency key. Once the upstream has deleted the key, it rejects a second refund of one
/// charge on its own. A refunded duplicate is marked (`ChargeFacts.isDuplicate`) and never refunded again: if the
/// bank lets the refund fail, an operator decides.
///
/// *What is not refunded*: a cancelled, dead or deleted watch is not reopened, so its money stays. `order.paid_twice`
/// has reported it, and the notifier logs a warning.
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
    package func concerns(_ event: Event) -> Bool {
        event.order != nil && event.key.kind == .order && event.type == "order.paid_twice"
            && accounts().contains(event.key.account)
    }

    /// Hints the duplicates of an order, when an event reports some.
    ///
    /// - Returns: the duplicates whose watches cannot be reopened, so that nothing refunds them.
    @discardableResult
    package func note(_ event: Event) async throws(StoreError) -> [WatchKey] {
        guard concerns(event), let name = event.order else { return [] }
        let key = OrderKey(account: event.key.account, order: name)
        var unreachable: [WatchKey] = []
        for duplicate in try await orders.order(key)?.summary.alsoPaidBy ?? [] {
            let isHinted = try await watches.hint(duplicate, of: .money)
            if !isHinted { unreachable.append(duplicate) }
        }
        return unreachable
    }
}
