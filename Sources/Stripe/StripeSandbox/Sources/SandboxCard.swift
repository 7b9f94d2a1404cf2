import JSONText
import SafeNumbers

/// A card as far as the sandbox cares: its face, and whether it asks for 3D Secure.
struct SandboxCard: Codable {
    let number: String
    var expiryMonth: Int
    var expiryYear: Int
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
        guard (1...12).contains(month) else { throw Self.invalidMonth }
    }

    private static let invalidMonth = APIError.declined(
        PaymentFailure(
            code: "invalid_expiry_month",
            message: "Your card's expiration month is invalid."
        )
    )

    /// Takes over `exp_month` and `exp_year` given under a path.
    mutating func update(from form: Form, at path: [String]) throws(APIError) {
        if let month = form[path: path + ["exp_month"]] {
            guard let month = Int(safe: month), (1...12).contains(month) else {
                throw Self.invalidMonth
            }
            expiryMonth = month
        }
        if let year = form[path: path + ["exp_year"]] {
            // A card lives some years; what lies before was never issued by Stripe's test data.
            guard let year = Int(safe: year), (2020...2099).contains(year) else {
                throw APIError.declined(
                    PaymentFailure(
                        code: "invalid_expiry_year",
                        message: "Your card's expiration year is invalid."
                    )
                )
            }
            expiryYear = year
        }
    }

    var last4: String { String(number.suffix(4)) }

    var brand: String {
        switch network {
        case "mastercard": "MasterCard"
        case "amex": "American Express"
        case "discover": "Discover"
        case "diners": "Diners Club"
        case "jcb": "JCB"
        case "unionpay": "UnionPay"
        default: "Visa"
        }
    }

    /// The brand as PaymentMethods and charges spell it.
    var network: String {
        switch number.prefix(2) {
        case "34", "37": "amex"
        case "30", "36", "38", "39": "diners"
        case "35": "jcb"
        case "62", "81": "unionpay"
        default:
            switch number.first {
            case "5", "2": "mastercard"
            case "6": "discover"
            default: "visa"
            }
        }
    }

    var country: String { TestCards.country(ofNumber: number) }

    var funding: String {
        switch last4 {
        case "5556", "8210": "debit"
        case "5100": "prepaid"
        default: "credit"
        }
    }

    /// The same for the same number, in Stripe's form.
    var fingerprint: String { Self.fingerprint(of: number) }

    /// A text of its own for each number of a card or an account.
    static func fingerprint(of number: String) -> String {
        let digest = number.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64(truncatingIfNeeded: $1)) &* 0x100_0000_01b3
        }
        var ids = IDGenerator(seed: digest)
        return ids.make("", length: 16)
    }

    /// Stripe's test cards for 3D Secure; all others do not support it.
    var security: String {
        switch last4 {
        case "3063", "3220", "3155", "3178", "1629", "1280": "required"
        case "3055", "3184": "optional"
        default: "not_supported"
        }
    }

    /// Whether a charge of the card itself is declined, because its customer must confirm it first.
    ///
    /// …3184 does not say so before it is charged, as cards whose bank decides that each time.
    /// *Source*: <https://docs.stripe.com/testing#three-ds-cards>.
    var needsAuthentication: Bool { security == "required" || last4 == "3184" }

    /// Whether the customer has to authenticate a payment while they are there.
    ///
    /// …0446 asks then, although it needs nobody later.
    var needsActionOnSession: Bool { needsAuthentication || last4 == "0446" }

    /// Whether it can be charged without the customer, once it `isSetUp` for that.
    ///
    /// *Source*: <https://docs.stripe.com/testing#authentication-and-setup>.
    func needsActionOffSession(isSetUp: Bool) -> Bool {
        switch last4 {
        case "3155", "3178": !isSetUp
        default: needsAuthentication
        }
    }

    /// Whether a customer cannot keep it: a declined card, but for the one that is declined later.
    var isRejectedOnAttach: Bool {
        if case .declined = ChargeOutcome(cardNumber: number) {
            return last4 != "0341" && !needsActionOnSession
        }
        return false
    }

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
        writer.field("country", country)
        writer.field("exp_month", expiryMonth)
        writer.field("exp_year", expiryYear)
        writer.field("funding", funding)
        writer.field("last4", last4)
    }

    /// The `card` of a PaymentMethod; checks are made when a customer keeps it.
    ///
    /// *Source*: <https://docs.stripe.com/api/payment_methods/object#payment_method_object-card>.
    func render(
        into writer: inout JSONWriter,
        billing: BillingDetails,
        isChecked: Bool,
        preferred: String?
    ) {
        let check = isChecked ? "pass" : "unchecked"
        writer.object { writer in
            writer.field("brand", network)
            writer.object("checks") { writer in
                writer.field("address_line1_check", billing.address["line1"].map { _ in check })
                writer.field(
                    "address_postal_code_check",
                    billing.address["postal_code"].map { _ in check }
                )
                writer.field("cvc_check", hasCode ? check : nil)
            }
            writer.field("country", country)
            writer.field("display_brand", network)
            writer.field("exp_month", expiryMonth)
            writer.field("exp_year", expiryYear)
            writer.field("fingerprint", fingerprint)
            writer.field("funding", funding)
            writer.nulls("generated_from")
            writer.field("last4", last4)
            writer.object("networks") { writer in
                writer.field("available", [network])
                writer.field("preferred", preferred)
            }
            writer.field("regulated_status", "unregulated")
            writer.object("three_d_secure_usage") {
                $0.field("supported", number != "378282246310005")
            }
            writer.nulls("wallet")
        }
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
