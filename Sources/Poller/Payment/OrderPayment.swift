package import PollerIdentity
import PollerQueue

/// What is true of an order, which a customer may try to pay in several ways: one word, as for one
/// payment, and whether it was paid more than once.
///
/// | of the members | the order is |
/// |---|---|
/// | one has paid, and the money is there | `paid`, or `partially_refunded` as that one |
/// | several have, and the money is there | the same, and paid twice |
/// | none, and money is asked back | `disputed` |
/// | none, and some try is not over | what the farthest of them is: `authorised`, `processing`, `partially_paid`, `awaiting_customer` |
/// | money was there and is gone | `reversed`, else `refunded` |
/// | none was ever paid, and all are over | `failed`, else `expired`, else `cancelled` |
/// | nothing is known of any | `unknown` |
///
/// Who pays first is the one whose money counts; of two at the same instant the one with the smaller
/// key, so that everybody finds the same. The order in which members became known does not matter. An
/// instant that is known to the second alone, as those of charges are, stands for the end of its second:
/// what was seen to be paid in the middle of it was paid before.
package struct OrderPayment: Hashable, Sendable {
    /// One way in which the order was tried to be paid.
    package struct Member: Hashable, Sendable {
        package let key: WatchKey
        package let payment: Payment

        /// Describes a member.
        package init(key: WatchKey, payment: Payment) {
            self.key = key
            self.payment = payment
        }
    }

    /// The order's word and sums; sums are those of all members in its currency together.
    package let payment: Payment
    /// The member whose money counts.
    package let paidBy: WatchKey?
    /// Members that have paid as well, and whose money is there: it was paid twice.
    package let alsoPaidBy: [WatchKey]

    /// What is true of an order with these members.
    ///
    /// `amount` and `currency` are the order's own, where somebody has said them.
    package init(_ members: [Member], amount: Amount? = nil, currency: String? = nil) {
        let sorted = members.sorted(by: Self.isBefore)
        let paid = sorted.filter(\.payment.state.isPaid)
        let first = paid.first ?? sorted.min { Self.rank($0) < Self.rank($1) }
        paidBy = paid.first?.key
        alsoPaidBy = paid.dropFirst().map(\.key)
        let unit = currency ?? first?.payment.currency
        // Sums of two currencies are no sum: those of another one than the order's are left out.
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

    /// Whether a further charge for the order must not be made: its money is there, or on its way.
    ///
    /// A member may always go on with its own charge; `key` is the one that asks. Two that are both
    /// authorised do not forbid each other, or neither would ever be charged: which of them may is for
    /// the store to say, to the first that asks.
    package static func forbidsCharging(_ key: WatchKey, _ members: [Member]) -> Bool {
        members.contains { member in
            guard member.key != key else { return false }
            switch member.payment.state {
            case .paid, .partiallyRefunded, .disputed, .processing: return true
            // The rest of a hold that was captured in part is the same shop's to capture.
            case .partiallyPaid: return member.payment.isPartlyCaptured
            case .awaitingCustomer, .authorised, .failed, .expired, .cancelled, .refunded,
                .reversed,
                .unknown:
                return false
            }
        }
    }

    /// Earlier money first, then by the key.
    private static func isBefore(_ lhs: Member, _ rhs: Member) -> Bool {
        let (left, right) = (latest(lhs.payment.paidAt), latest(rhs.payment.paidAt))
        if left != right { return left < right }
        return lhs.key.id.description < rhs.key.id.description
    }

    /// When it was paid at the latest, ms; the end of time where nobody knows.
    private static func latest(_ paidAt: Timestamp?) -> Int64 {
        guard let ms = paidAt?.ms else { return .max }
        return ms % 1000 == 0 ? ms + 999 : ms
    }

    /// How far from the truth of the order a member is when none is paid.
    private static func rank(_ member: Member) -> Int {
        let order: [PaymentState] = [
            .paid, .partiallyRefunded, .disputed, .authorised, .processing, .partiallyPaid,
            .awaitingCustomer, .reversed, .refunded, .failed, .expired, .cancelled, .unknown,
        ]
        return order.firstIndex(of: member.payment.state) ?? order.count
    }
}
