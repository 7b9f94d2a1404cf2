package import Logging
import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches

/// Refunds a payment of an order that was already paid, if the account is configured to (`DuplicateRefunds`).
///
/// Only reported money is refunded, because the order contains no other. If refunds of the whole charge exist already,
/// by an operator or by an earlier poll, none is requested, even if they have not succeeded yet. After a lost dispute
/// about the first payment an operator decides, because the shop would keep only the rest of that payment.
package struct RefundFollowUp: FollowUp {
    private let charger: any Charger
    private let orders: OrderService
    private let logger: Logger

    /// Creates a follow-up that refunds the duplicates in `orders` through `charger`.
    package init(_ charger: any Charger, orders: OrderService, logger: Logger) {
        self.charger = charger
        self.orders = orders
        self.logger = logger
    }

    package func act(
        on outcome: PollOutcome,
        _ context: inout PollContext,
        _ leased: LeasedItem<Watch>,
        timeout: Duration
    ) async -> PollOutcome {
        let watch = context.watch
        guard let key = OrderKey(of: watch), charger.refundsDuplicates(of: watch.key.account),
            let money = watch.payment?.money, money.hasMoney, !money.isDuplicate,
            money.refunded < money.captured, let seen = outcome.result.observation,
            let object = seen.object
        else { return outcome }
        func postponed(_ reason: String, _ retryAfter: Duration? = nil) -> PollOutcome {
            .refundPostponed(seen, reason, retryAfter: retryAfter)
        }
        let first: WatchKey
        do throws(StoreError) {
            guard let paid = try await orders.order(key)?.summary, let counted = paid.paidBy,
                paid.alsoPaidBy.contains(watch.key), paid.payment.reason != .disputeLost
            else { return outcome }
            first = counted
        } catch {
            return postponed("order \(key.order) could not be read: \(error)")
        }
        guard let limit = leased.limit(timeout) else {
            return postponed("the lease was about to end")
        }
        var charge = watch.state.charge.charge ?? money.id
        let reading: PaymentReading?
        switch outcome {
        case .charged(_, .made(let found)):
            charge = found.id
            reading = context.reading(seen, charge: found)
        case .chargeAnswer(let read, _): reading = context.reading(following: read, seen)
        default: reading = context.reading(seen)
        }
        if reading?.memory.money?.isCoveredByRefunds ?? false {
            context.duplicateRefund = .covered
            return outcome
        }
        let refunded = await charger.refundDuplicate(
            watch,
            of: first,
            charge: charge,
            object: object,
            timeout: limit
        )
        switch refunded {
        case .made, .underway, .covered: break
        case .postponed(let reason, let retryAfter): return postponed(reason, retryAfter)
        case .failed(let why), .refused(let why):
            logger.error(
                "a duplicate payment was not refunded",
                metadata: [
                    "source": "\(watch.key.source)", "order": "\(key.order)", "error": "\(why)",
                ]
            )
        }
        context.duplicateRefund = refunded
        return outcome
    }
}

extension ChargeFacts {
    /// Whether the refunds that have succeeded or are open return the whole sum.
    fileprivate var isCoveredByRefunds: Bool {
        guard captured > 0, !isRefundDoubtful else { return false }
        let open = refund.flatMap { $0.isOpen ? $0.amount : nil } ?? .zero
        return refunded + open >= captured
    }
}
