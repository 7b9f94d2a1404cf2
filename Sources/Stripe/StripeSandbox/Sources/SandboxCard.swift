import JSONText
import SafeNumbers

/// The sandbox's card data, including its 3D Secure behaviour.
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

    /// Reads `number`, `exp_month`, … below a path such as `["card"]`; Visa's test card is the default.
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

    /// Updates `exp_month` and `exp_year` from a path.
    mutating func update(from form: Form, at path: [String]) throws(APIError) {
        if let month = form[path: path + ["exp_month"]] {
            guard let month = Int(safe: month), (1...12).contains(month) else {
                throw Self.invalidMonth
            }
            expiryMonth = month
        }
        if let year = form[path: path + ["exp_year"]] {
            // Earlier years do not occur in Stripe's test data.
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

    /// The brand as spelled in PaymentMethods and charges.
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

    /// A fingerprint that is equal for equal numbers, in Stripe's format.
    var fingerprint: String { Self.fingerprint(of: number) }

    /// Returns the fingerprint of a card or account number.
    static func fingerprint(of number: String) -> String {
        let digest = number.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64(truncatingIfNeeded: $1)) &* 0x100_0000_01b3
        }
        var ids = IDGenerator(seed: digest)
        return ids.make("", length: 16)
    }

    /// The 3D Secure support of Stripe's test cards; other cards do not support it.
    var security: String {
        switch last4 {
        case "3063", "3220", "3155", "3178", "1629", "1280": "required"
        case "3055", "3184": "optional"
        default: "not_supported"
        }
    }

    /// Whether charging the card directly is declined because the customer must authenticate.
    ///
    /// Card …3184 does not show this before the charge, like cards whose bank decides for each payment.
    /// *Source*: <https://docs.stripe.com/testing#three-ds-cards>.
    var needsAuthentication: Bool { security == "required" || last4 == "3184" }

    /// Whether the customer must authenticate an on-session payment.
    ///
    /// Card …0446 requires it on session but not later.
    var needsActionOnSession: Bool { needsAuthentication || last4 == "0446" }

    /// Returns whether an off-session payment needs authentication, depending on the setup.
    ///
    /// *Source*: <https://docs.stripe.com/testing#authentication-and-setup>.
    func needsActionOffSession(isSetUp: Bool) -> Bool {
        switch last4 {
        case "3155", "3178": !isSetUp
        default: needsAuthentication
        }
    }

    /// Whether attaching the card is rejected: all declined cards except the one that is declined later.
    var isRejectedOnAttach: Bool {
        if case .declined = ChargeOutcome(cardNumber: number) {
            return last4 != "0341" && !needsActionOnSession
        }
        return false
    }

    /// The outcome of refunds.
    ///
    /// *Source*: <https://docs.stripe.com/testing#refunds>.
    var refund: RefundOutcome {
        switch last4 {
        case "7726": .succeedsLater
        case "5126": .failsLater
        default: .succeeds
        }
    }

    /// Renders the fields of a card Source that 3D Secure does not share.
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

    /// Renders the `card` of a PaymentMethod; the checks are made when it is attached.
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

    /// Returns whether the number passes the Luhn check.
    private static func hasCheckDigit(_ number: String) -> Bool {
        let sum = number.reversed().enumerated().reduce(0) { sum, digit in
            let value = digit.element.wholeNumberValue ?? 0
            let weighted = digit.offset % 2 == 1 ? value * 2 : value
            return sum + (weighted > 9 ? weighted - 9 : weighted)
        }
        return sum % 10 == 0
    }
}
