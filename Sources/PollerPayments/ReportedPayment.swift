import SafeNumbers

/// The last reported payment, in the few bytes that fit in a watch.
///
/// *Problem*: a watch may end without a new answer: at its deadline, after a 404, or with unreadable answers. Its last
/// event must not contain less than the previous one. The status alone does not show why an attempt failed, or how much
/// of a transfer has arrived. *Approach*: the memory of a watch stores the payment itself (``PaymentMemory``).
///
/// *Shape*: five values joined by `|`, sums in base 36:
/// ```
/// <state and reason, a letter each>|<currency and method>|<amount>|<received>|<returned>
/// pc|eurcard|rs|go        1000 EUR cents by card; 600 have arrived
/// ```
/// The received and returned sums are left out if they equal those of the stored money. `-` stands for an unknown
/// currency. If there is no room, the method is dropped, and then the currency.
package struct ReportedPayment: Hashable, Sendable {
    package let state: PaymentState
    package let reason: PaymentReason?
    package let amount: Amount?
    package let received: Amount
    package let returned: Amount
    package private(set) var currency: String?
    package private(set) var method: PaymentMethod?

    /// The size limit of a value in the small encoding of a Redis hash (`hash-max-listpack-value`), in bytes.
    static let room = 64

    /// Stores as much of a payment as fits; `nil` if nothing fits next to the evidence of money, from which the state
    /// can be derived.
    ///
    /// - Parameters:
    ///   - payment: the payment to report.
    ///   - money: the stored evidence.
    ///   - room: the remaining bytes, including the separator before it.
    init?(_ payment: Payment, besides money: ChargeFacts?, room: Int) {
        state = payment.state
        reason = payment.reason
        amount = payment.amount
        received = payment.amountReceived
        returned = payment.amountReturned
        currency = payment.currency.flatMap { Self.isCurrency($0) ? $0 : nil }
        method = payment.method.flatMap { Self.isMethod($0.name) ? $0 : nil }
        guard bytes(besides: money) > room else { return }
        method = nil
        if bytes(besides: money) > room { currency = nil }
        if money != nil, bytes(besides: money) > room { return nil }
    }

    /// Reads the five values, each with a call of `next`; `nil` if they are missing or unreadable.
    init?(next: () -> String, besides money: ChargeFacts?) {
        let letters = next()
        guard let letter = letters.first,
            let state = Self.states.first(where: { $0.letter == letter })?.state
        else { return nil }
        func nextSum() -> Amount? {
            Int(next(), radix: 36).flatMap { Amount(nonNegative: $0) }
        }
        self.state = state
        let last = letters.dropFirst().first
        reason = Self.reasons.first { $0.letter == last }?.reason
        let words = next()
        amount = nextSum()
        received = nextSum() ?? money?.captured ?? .zero
        returned = nextSum() ?? money?.refunded ?? .zero
        let isKnown = words.first != "-" && words.utf8.count >= 3
        currency = isKnown ? String(words.prefix(3)) : nil
        method = PaymentMethod(String(words.dropFirst(isKnown ? 3 : 1)))
    }

    /// Returns the five values.
    func parts(besides money: ChargeFacts?) -> [String] {
        func text(_ sum: Amount, _ known: Amount) -> String {
            sum == known ? "" : String(sum.minorUnits, radix: 36)
        }
        let letters = [
            Self.states.first { $0.state == state }?.letter,
            reason.flatMap { reason in Self.reasons.first { $0.reason == reason }?.letter },
        ]
        let isBare = currency == nil && method == nil
        return [
            String(letters.compactMap(\.self)),
            isBare ? "" : (currency ?? "-") + (method?.name ?? ""),
            amount.map { String($0.minorUnits, radix: 36) } ?? "",
            text(received, money?.captured ?? .zero), text(returned, money?.refunded ?? .zero),
        ]
    }

    /// Returns the payment, completed by the stored evidence of its money.
    package func payment(with money: ChargeFacts?) -> Payment {
        Payment(
            state: state,
            amount: amount,
            amountReceived: received,
            amountReturned: returned,
            currency: currency,
            method: method,
            paidAt: money?.paidAt,
            reason: reason,
            refund: money?.refund
        )
    }

    private func bytes(besides money: ChargeFacts?) -> Int {
        var parts = parts(besides: money)
        while parts.last?.isEmpty ?? false { parts.removeLast() }
        return parts.reduce(0) { $0 + 1 + $1.utf8.count }
    }

    private static func isCurrency(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x61...0x7A).contains($0) }
    }

    /// Whether a name can be stored: configured upstreams may use any name, even with the separator.
    private static func isMethod(_ name: String) -> Bool {
        name.utf8.count <= 20
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            }
    }

    /// The letters of the states.
    ///
    /// They are stored in watches and must never change their meaning.
    static let states: [(letter: Character, state: PaymentState)] = [
        ("a", .awaitingCustomer), ("o", .processing), ("h", .authorised), ("p", .paid),
        ("s", .partiallyPaid), ("f", .failed), ("e", .expired), ("c", .cancelled),
        ("r", .refunded), ("q", .partiallyRefunded), ("d", .disputed), ("v", .reversed),
        ("u", .unknown),
    ]

    /// The letters of the reasons, under the same rule as ``states``.
    static let reasons: [(letter: Character, reason: PaymentReason)] = [
        ("d", .declined), ("i", .insufficientFunds), ("x", .expiredCard),
        ("n", .authenticationRequired), ("f", .authenticationFailed), ("b", .customerAborted),
        ("e", .processingError), ("u", .unused), ("t", .notChargedInTime), ("w", .windowClosing),
        ("l", .authorisationExpired), ("r", .released), ("a", .abandoned), ("2", .duplicate),
        ("g", .fraudulent), ("q", .requested), ("s", .saved), ("h", .held), ("y", .inquiry),
        ("k", .bankReturned), ("o", .disputeLost), ("c", .detached),
    ]
}

extension PaymentFacts {
    /// Adds the stored progress of the charge.
    ///
    /// The evidence of its money is stored separately, with refunds and disputes; a charge without evidence is a hold.
    package mutating func recall(_ progress: ChargeProgress, _ memory: PaymentMemory?) {
        switch progress {
        case .none, .doubtful: break
        case .failed:
            isRefused = true
            isRefusedBefore = true
        case .pending(let id): charge = ChargeFacts(id: id, status: .pending)
        case .succeeded where memory?.money != nil: break
        case .succeeded(let id): charge = ChargeFacts(id: id, status: .succeeded)
        }
    }
}
