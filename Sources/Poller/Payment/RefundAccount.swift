package import PollerIdentity

/// An account that money goes back to, as its holder has told it.
///
/// For the upstream alone: it is not kept, not recorded and not logged, and describes itself as redacted.
package struct RefundAccount: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Where an account is.
    package enum Place: Hashable, Sendable {
        /// By its IBAN, in capitals without spaces.
        case iban(String)
        /// In the United States; `isCompany` says whose it is.
        case american(routing: String, number: String, isCompany: Bool)
    }

    /// What an account is named by.
    package enum Sort: Hashable, Sendable {
        case iban
        /// Routing and account number.
        case american

        /// What money of a payment goes back to; nil for a way to pay that asks for no account.
        ///
        /// *Source*: <https://docs.stripe.com/sources/multibanco>, `/sepa-credit-transfer`,
        /// `/ach-credit-transfer`.
        package init?(paidBy method: PaymentMethod?) {
            switch method?.name {
            case "multibanco", "sepa_credit_transfer": self = .iban
            case "ach_credit_transfer": self = .american
            default: return nil
            }
        }
    }

    package let holder: String
    package let place: Place

    /// Checks an account.
    ///
    /// Errors: `InvalidInput` with the field and what would be right.
    package init(holder: String, place: Place) throws(InvalidInput) {
        let isName =
            !holder.allSatisfy(\.isWhitespace) && holder.utf8.count <= 255
            && holder.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value)
            }
        guard isName else {
            throw InvalidInput(field: "holder", message: "must be the name of the account's holder")
        }
        self.holder = holder
        switch place {
        case .iban(let text):
            let iban = text.filter { !$0.isWhitespace }.uppercased()
            guard Self.isIBAN(iban) else {
                throw InvalidInput(
                    field: "iban",
                    message: "must be an IBAN with its check digits, such as DE89370400440532013000"
                )
            }
            self.place = .iban(iban)
        case .american(let routing, let number, _):
            guard Self.isNumber(routing, 9...9) else {
                throw InvalidInput(field: "routing_number", message: "must be nine digits")
            }
            guard Self.isNumber(number, 4...17) else {
                throw InvalidInput(field: "account_number", message: "must be 4 to 17 digits")
            }
            self.place = place
        }
    }

    private static func isNumber(_ text: String, _ length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// *Source*: ISO 13616-1: the check digits make the number, rearranged, 1 modulo 97.
    private static func isIBAN(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard (15...34).contains(bytes.count),
            bytes.prefix(2).allSatisfy({ (0x41...0x5A).contains($0) }),
            bytes.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return false }
        let rest = (bytes.dropFirst(4) + bytes.prefix(4)).reduce(0) { rest, byte in
            // Digits and capitals alone, as checked: the differences are not negative.
            let value = Int(truncatingIfNeeded: byte < 0x41 ? byte - 0x30 : byte - 0x37)
            return (rest * (byte < 0x41 ? 10 : 100) + value) % 97
        }
        return rest == 1
    }

    package var description: String { "(redacted)" }
    package var customMirror: Mirror { Mirror(self, children: ["account": "(redacted)"]) }
}

/// What came of an account that was handed in.
package enum RefundAccountResult: Hashable, Sendable {
    case taken
    /// The upstream does not take this one; by its word.
    case refused(String)
    /// This way to pay gives money back to no such account.
    case notAsked
    /// Nobody knows: the upstream gave no answer. The same may be handed in again.
    case unknown(String)
}
