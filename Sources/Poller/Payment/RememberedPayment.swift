import SafeNumbers

/// A payment as it was told last, in the few bytes that a watch has room for.
///
/// *Problem*: a watch may end without a new answer: by its deadline, a 404, or answers that cannot be read. Its last
/// event must not say less than the one before, and the status alone does not show why a try failed, or how much of
/// a transfer has arrived.
/// *Approach*: the memory of a watch keeps the payment itself (``PaymentMemory``).
///
/// *Shape*: five values that are joined by `|`, sums in base 36:
/// ```
/// <state and reason, a letter each>|<currency and method>|<amount>|<received>|<returned>
/// pc|eurcard|rs|go        1000 EUR cents by card, of which 600 have arrived
/// ```
/// What has arrived and gone back is left out where the money of the memory says the same. `-` stands for a currency
/// that is not known. A method is dropped where there is no room for it, and then the currency.
package struct RememberedPayment: Hashable, Sendable {
    package let state: PaymentState
    package let reason: PaymentReason?
    package let amount: Amount?
    package let received: Amount
    package let returned: Amount
    package private(set) var currency: String?
    package private(set) var method: PaymentMethod?

    /// The bytes of a value in the small encoding of a Redis hash (`hash-max-listpack-value`).
    static let room = 64

    /// Remembers a payment, as much of it as there is room for; nil where there is none beside the evidence of
    /// money, which shows the state by itself.
    ///
    /// - Parameters:
    ///   - payment: as it is told now.
    ///   - money: the evidence that is remembered beside it.
    ///   - room: the bytes that are left, with the separator before it.
    init?(_ payment: Payment, besides money: ChargeFacts?, room: Int) {
        state = payment.state
        reason = payment.reason
        amount = payment.amount
        received = payment.amountReceived
        returned = payment.amountReturned
        currency = payment.currency.flatMap { Self.isCurrency($0) ? $0 : nil }
        method = payment.method.flatMap { Self.isMethod($0.name) ? $0 : nil }
        if bytes(besides: money) > room { method = nil }
        if bytes(besides: money) > room { currency = nil }
        if money != nil, bytes(besides: money) > room { return nil }
    }

    /// Reads one back; nil when there is none, or none that is understood.
    init?(parts: [String], besides money: ChargeFacts?) {
        guard parts.count == 5, let letter = parts[0].first,
            let state = Self.states.first(where: { $0.letter == letter })?.state
        else { return nil }
        func sum(_ text: String) -> Amount? {
            Int(text, radix: 36).flatMap { Amount(nonNegative: $0) }
        }
        self.state = state
        let last = parts[0].dropFirst().first
        reason = Self.reasons.first { $0.letter == last }?.reason
        amount = sum(parts[2])
        received = sum(parts[3]) ?? money?.captured ?? .zero
        returned = sum(parts[4]) ?? money?.refunded ?? .zero
        let isKnown = parts[1].first != "-" && parts[1].utf8.count >= 3
        currency = isKnown ? String(parts[1].prefix(3)) : nil
        method = PaymentMethod(String(parts[1].dropFirst(isKnown ? 3 : 1)))
    }

    /// The five values.
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

    /// The payment, with the rest of what is remembered of its money.
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

    /// Names of configured upstreams may be anything, and hold the separator.
    private static func isMethod(_ name: String) -> Bool {
        name.utf8.count <= 20
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            }
    }

    /// The letters stand in stored watches: none is ever given another meaning.
    static let states: [(letter: Character, state: PaymentState)] = [
        ("a", .awaitingCustomer), ("o", .processing), ("h", .authorised), ("p", .paid),
        ("s", .partiallyPaid), ("f", .failed), ("e", .expired), ("c", .cancelled),
        ("r", .refunded), ("q", .partiallyRefunded), ("d", .disputed), ("v", .reversed),
        ("u", .unknown),
    ]

    /// As of ``states``.
    static let reasons: [(letter: Character, reason: PaymentReason)] = [
        ("d", .declined), ("i", .insufficientFunds), ("x", .expiredCard),
        ("n", .authenticationRequired), ("f", .authenticationFailed), ("b", .customerAborted),
        ("e", .processingError), ("u", .unused), ("t", .notChargedInTime), ("w", .windowClosing),
        ("l", .authorisationExpired), ("r", .released), ("a", .abandoned), ("2", .duplicate),
        ("g", .fraudulent), ("q", .requested), ("s", .saved), ("h", .held), ("y", .inquiry),
        ("k", .bankReturned), ("o", .disputeLost), ("c", .detached),
    ]
}
