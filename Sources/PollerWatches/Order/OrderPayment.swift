package import PollerIdentity
package import PollerPayments
import PollerQueue

/// The payment state of an order, which a customer may try to pay in several ways, and whether it was paid more than
/// once.
///
/// | members | the order is |
/// |---|---|
/// | one has paid, and the money was not returned | `paid`, or `partially_refunded` like that one |
/// | several have paid, and the money was not returned | the same, and paid twice |
/// | none has, and money is disputed | `disputed` |
/// | none has, and an attempt is open | the state of the most advanced one |
/// | money was received and returned | `reversed`, else `refunded` |
/// | none was ever paid, and all are closed | `failed`, else `expired`, else `cancelled` |
/// | no state is known | `unknown` |
///
/// The states of open attempts, the most advanced first, are `authorised`, `processing`, `partially_paid` and
/// `awaiting_customer`.
///
/// The first payment counts. Of two at the same instant, the one with the smaller key counts, so that every process
/// gets the same result. The order in which members became known does not matter. A time with a precision of a second,
/// such as that of a charge, counts as the end of its second: a payment observed in the middle of it was earlier.
package struct OrderPayment: Hashable, Sendable {
    /// One attempt to pay the order.
    package struct Member: Hashable, Sendable {
        package let key: WatchKey
        package let payment: Payment

        package init(key: WatchKey, payment: Payment) {
            self.key = key
            self.payment = payment
        }
    }

    /// The order's state and sums; the sums are over all members in its currency.
    package let payment: Payment
    /// The member whose payment counts.
    package let paidBy: WatchKey?
    /// Other members with money that was not returned: the order was paid twice.
    package let alsoPaidBy: [WatchKey]

    /// Derives the state of an order from its members.
    ///
    /// `amount` and `currency` are those of the order, if given.
    package init(_ members: [Member], amount: Amount? = nil, currency: String? = nil) {
        let sorted = members.sorted(by: Self.isBefore)
        let paid = sorted.filter(\.payment.state.isPaid)
        let first = paid.first ?? sorted.min { Self.rank($0) < Self.rank($1) }
        paidBy = paid.first?.key
        alsoPaidBy = paid.dropFirst().map(\.key)
        let unit = currency ?? first?.payment.currency
        // Sums in other currencies than the order's are left out.
        let alike = members.map(\.payment).filter {
            unit == nil || [nil, unit].contains($0.currency)
        }
        payment = Payment(
            state: first?.payment.state ?? .unknown,
            amount: amount ?? first?.payment.amount,
            amountReceived: alike.reduce(.zero) { $0 + $1.amountReceived },
            amountReturned: alike.reduce(.zero) { $0 + $1.amountReturned },
            currency: unit,
            method: first?.payment.method,
            paidAt: first?.payment.paidAt,
            reason: first?.payment.reason,
            refund: first?.payment.refund,
            presentment: members.count == 1 ? first?.payment.presentment : nil
        )
    }

    /// Whether another charge for the order is forbidden: its money was received or is in transit.
    ///
    /// A member may always continue its own charge; `key` is the member that requests. Two authorised members do not
    /// forbid each other, or neither would ever be charged. The store grants the right to the first one.
    package static func forbidsCharging(_ key: WatchKey, _ members: [Member]) -> Bool {
        members.contains { member in
            guard member.key != key else { return false }
            switch member.payment.state {
            case .paid, .partiallyRefunded, .disputed, .processing: return true
            // The same shop may capture the rest of a partly captured hold.
            case .partiallyPaid: return member.payment.isPartlyCaptured
            case .awaitingCustomer, .authorised, .failed, .expired, .cancelled, .refunded,
                .reversed,
                .unknown:
                return false
            }
        }
    }

    /// Whether a member was paid earlier, or has the smaller key.
    private static func isBefore(_ lhs: Member, _ rhs: Member) -> Bool {
        let (left, right) = (latest(lhs.payment.paidAt), latest(rhs.payment.paidAt))
        if left != right { return left < right }
        return lhs.key.id.description < rhs.key.id.description
    }

    /// Returns the latest possible time of the payment in ms; the maximum if it is unknown.
    private static func latest(_ paidAt: Timestamp?) -> Int64 {
        guard let ms = paidAt?.ms else { return .max }
        return ms % 1000 == 0 ? ms + 999 : ms
    }

    /// Returns the rank of a member when none is paid; the lowest rank determines the state.
    private static func rank(_ member: Member) -> Int {
        let order: [PaymentState] = [
            .paid, .partiallyRefunded, .disputed, .authorised, .processing, .partiallyPaid,
            .awaitingCustomer, .reversed, .refunded, .failed, .expired, .cancelled, .unknown,
        ]
        return order.firstIndex(of: member.payment.state) ?? order.count
    }
}
