import SafeNumbers

/// A card as far as the sandbox cares: its face, and whether it asks for 3D Secure.
struct SandboxCard: Codable {
    let number: String
    let expiryMonth: Int
    let expiryYear: Int
    let hasCode: Bool

    init(number: String, expiryMonth: Int = 12, expiryYear: Int = 2034, hasCode: Bool = true) {
        self.number = number.filter(\.isNumber)
        self.expiryMonth = expiryMonth
        self.expiryYear = expiryYear
        self.hasCode = hasCode
    }

    /// Reads `number`, `exp_month`, … under a path such as `["card"]`; Visa's test card unless a number is given.
    init(path: [String], _ form: Form) throws(APIError) {
        func field(_ name: String) -> String? { form[path: path + [name]] }
        let number = field("number") ?? "4242424242424242"
        let month = field("exp_month").flatMap { Int(safe: $0) } ?? 12
        let year = field("exp_year").flatMap { Int(safe: $0) } ?? 2034
        self.init(
            number: number,
            expiryMonth: month,
            expiryYear: year < 100 ? 2000 + year : year,
            hasCode: field("cvc") != nil
        )
        guard (12...19).contains(self.number.count), Self.hasCheckDigit(self.number) else {
            throw APIError.declined(
                PaymentFailure(code: "incorrect_number", message: "Your card number is incorrect.")
            )
        }
        guard (1...12).contains(month) else {
            throw APIError.declined(
                PaymentFailure(
                    code: "invalid_expiry_month",
                    message: "Your card's expiration month is invalid."
                )
            )
        }
    }

    var last4: String { String(number.suffix(4)) }

    var brand: String {
        switch number.first {
        case "5", "2": "MasterCard"
        case "3": "American Express"
        case "6": "Discover"
        default: "Visa"
        }
    }

    /// Stripe's test cards for 3D Secure; all others do not support it.
    var security: String {
        switch last4 {
        case "3063", "3220", "3155", "3178": "required"
        case "3055", "3184": "optional"
        default: "not_supported"
        }
    }

    /// Whether a charge of the card itself is declined, because its customer must confirm it first.
    ///
    /// …3184 does not say so before it is charged, as cards whose bank decides that each time.
    /// *Source*: <https://docs.stripe.com/testing#three-ds-cards>.
    var needsAuthentication: Bool { security == "required" || last4 == "3184" }

    /// What becomes of refunds to it.
    ///
    /// *Source*: <https://docs.stripe.com/testing#refunds>.
    var refund: RefundOutcome {
        switch last4 {
        case "7726": .succeedsLater
        case "5126": .failsLater
        default: .succeeds
        }
    }

    /// The fields of a card source beyond those it shares with 3D Secure.
    func renderDetails(into writer: inout JSONWriter) {
        renderFace(into: &writer)
        writer.field("three_d_secure", security)
    }

    func renderFace(into writer: inout JSONWriter) {
        writer.field("brand", brand)
        writer.field("country", "US")
        writer.field("exp_month", expiryMonth)
        writer.field("exp_year", expiryYear)
        writer.field("funding", "credit")
        writer.field("last4", last4)
    }

    /// Luhn's check.
    private static func hasCheckDigit(_ number: String) -> Bool {
        let sum = number.reversed().enumerated().reduce(0) { sum, digit in
            let value = digit.element.wholeNumberValue ?? 0
            let weighted = digit.offset % 2 == 1 ? value * 2 : value
            return sum + (weighted > 9 ? weighted - 9 : weighted)
        }
        return sum % 10 == 0
    }
}
