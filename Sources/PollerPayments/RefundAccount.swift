package import PollerIdentity

/// The bank account for a refund, as its holder has entered it.
///
/// It is only for the upstream: it is not stored, recorded or logged, and its description is redacted.
package struct RefundAccount: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The identification of an account.
    package enum Identifier: Hashable, Sendable {
        /// An IBAN, in capitals without spaces.
        case iban(String)
        /// An account in the United States; `isBusiness` is the type of its holder.
        case american(routing: String, number: String, isBusiness: Bool)
    }

    /// The kind of identification.
    package enum Sort: Hashable, Sendable {
        case iban
        /// A routing number and an account number.
        case american

        /// Creates the kind of account to which a method refunds; `nil` for a method that needs no account.
        ///
        /// *Source*: <https://docs.stripe.com/sources/multibanco>, `/sepa-credit-transfer`, `/ach-credit-transfer`.
        package init?(paidBy method: PaymentMethod?) {
            switch method?.name {
            case "multibanco", "sepa_credit_transfer": self = .iban
            case "ach_credit_transfer": self = .american
            default: return nil
            }
        }
    }

    package let holder: String
    package let identifier: Identifier

    /// Checks an account.
    ///
    /// Errors: `InvalidInput` with the field and the expected form.
    package init(holder: String, identifier: Identifier) throws(InvalidInput) {
        let isName =
            !holder.allSatisfy(\.isWhitespace) && holder.utf8.count <= 255
            && holder.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value)
            }
        guard isName else { throw InvalidInput("holder", "must be the name of the account holder") }
        self.holder = holder
        switch identifier {
        case .iban(let text):
            let iban = text.filter { !$0.isWhitespace }.uppercased()
            guard Self.isIBAN(iban) else {
                throw InvalidInput(
                    "iban",
                    "must be an IBAN with its check digits, such as DE89370400440532013000"
                )
            }
            self.identifier = .iban(iban)
        case .american(let routing, let number, _):
            guard Self.isNumber(routing, 9...9) else {
                throw InvalidInput("routing_number", "must be nine digits")
            }
            guard Self.isNumber(number, 4...17) else {
                throw InvalidInput("account_number", "must be 4 to 17 digits")
            }
            self.identifier = identifier
        }
    }

    private static func isNumber(_ text: String, _ length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether the check digits are right.
    ///
    /// *Source*: ISO 13616-1: the rearranged number is 1 modulo 97.
    private static func isIBAN(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard (15...34).contains(bytes.count),
            bytes.prefix(2).allSatisfy({ (0x41...0x5A).contains($0) }),
            bytes.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return false }
        let rest = (bytes.dropFirst(4) + bytes.prefix(4)).reduce(0) { rest, byte in
            // Only digits and capitals, as checked, so the differences are not negative.
            let value = Int(truncatingIfNeeded: byte < 0x41 ? byte - 0x30 : byte - 0x37)
            return (rest * (byte < 0x41 ? 10 : 100) + value) % 97
        }
        return rest == 1
    }

    package var description: String { "(redacted)" }
    package var customMirror: Mirror { Mirror(self, children: ["account": "(redacted)"]) }
}

/// The result of a submitted account.
package enum RefundAccountResult: Hashable, Sendable {
    case taken
    /// The upstream rejects the account, with its message.
    case refused(String)
    /// The payment method does not refund to such an account.
    case notRequired
    /// Unknown: the upstream did not answer.
    ///
    /// The same account may be submitted again.
    case unknown(String)
}
