import JSONText
import SafeNumbers

/// The properties of a PaymentMethod type.
///
/// *Source*: the classes of `PaymentMethod` and of its parameters in stripe-python 16.1.0 (2026-10-28.endive); types
/// that can be attached: <https://docs.stripe.com/payments/payment-methods/payment-method-support>.
struct MethodType {
    /// The required customer action.
    var asks = SandboxMethod.Asks.nothing
    /// Whether the result of a payment is known only days later.
    var isAsynchronous = false
    /// Whether it can be attached to a customer.
    var isReusable = false
    /// The parameters of the hash named after the type.
    var parameters: [String] = []
    /// The fields of that hash in responses.
    var responseFields: [String] = []

    private static let redirect = MethodType(asks: .redirect)
    private static let redirectKept = MethodType(asks: .redirect, isReusable: true)

    /// All supported types by name.
    static let all: [String: MethodType] = [
        "card": MethodType(
            isReusable: true,
            parameters: ["cvc", "exp_month", "exp_year", "networks", "number", "token"]
        ),
        // Methods that redirect the customer to a page.
        "affirm": redirect, "afterpay_clearpay": redirect, "alipay": redirect,
        "amazon_pay": redirectKept, "bancontact": redirect, "giropay": redirect,
        "mobilepay": redirect, "multibanco": redirect, "revolut_pay": redirectKept,
        "twint": redirect,
        "blik": MethodType(asks: .redirect, responseFields: ["buyer_id"]),
        "eps": MethodType(asks: .redirect, parameters: ["bank"], responseFields: ["bank"]),
        "fpx": MethodType(
            asks: .redirect,
            parameters: ["account_holder_type", "bank"],
            responseFields: ["account_holder_type", "bank"]
        ),
        "ideal": MethodType(
            asks: .redirect,
            parameters: ["bank"],
            responseFields: ["bank", "bic"]
        ),
        "klarna": MethodType(
            asks: .redirect,
            isReusable: true,
            parameters: ["dob"],
            responseFields: ["dob"]
        ),
        "link": MethodType(asks: .redirect, isReusable: true, responseFields: ["email"]),
        "p24": MethodType(
            asks: .redirect,
            parameters: ["bank", "tos_shown_and_accepted"],
            responseFields: ["bank"]
        ),
        "paypal": MethodType(
            asks: .redirect,
            isReusable: true,
            responseFields: ["country", "payer_email", "payer_id"]
        ),
        "sofort": MethodType(
            asks: .redirect,
            isAsynchronous: true,
            parameters: ["country"],
            responseFields: ["country"]
        ),
        // Debits.
        "acss_debit": MethodType(
            asks: .microdeposits,
            isAsynchronous: true,
            isReusable: true,
            parameters: ["account_number", "institution_number", "transit_number"],
            responseFields: [
                "bank_name", "fingerprint", "institution_number", "last4", "transit_number",
            ]
        ),
        "au_becs_debit": MethodType(
            isAsynchronous: true,
            isReusable: true,
            parameters: ["account_number", "bsb_number"],
            responseFields: ["bsb_number", "fingerprint", "last4"]
        ),
        "bacs_debit": MethodType(
            isAsynchronous: true,
            isReusable: true,
            parameters: ["account_number", "sort_code"],
            responseFields: ["fingerprint", "last4", "sort_code"]
        ),
        "sepa_debit": MethodType(
            isAsynchronous: true,
            isReusable: true,
            parameters: ["iban"],
            responseFields: [
                "bank_code", "branch_code", "country", "fingerprint", "generated_from", "last4",
            ]
        ),
        "us_bank_account": MethodType(
            asks: .microdeposits,
            isAsynchronous: true,
            isReusable: true,
            parameters: [
                "account_holder_type", "account_number", "account_type",
                "financial_connections_account", "routing_number",
            ],
            responseFields: [
                "account_holder_type", "account_type", "bank_name",
                "financial_connections_account", "fingerprint", "last4", "networks",
                "routing_number", "status_details",
            ]
        ),
        // Others.
        "cashapp": MethodType(isReusable: true, responseFields: ["buyer_id", "cashtag"]),
        "customer_balance": MethodType(asks: .bankTransfer),
        "wechat_pay": MethodType(
            asks: .scan,
            parameters: ["app_id", "client"]
        ),
    ]
}

/// The hash named after the type of a PaymentMethod, except for cards.
enum MethodFields {
    /// Returns the values to store; never a complete account number.
    static func texts(of type: String, _ form: Form, _ prefix: [String]) -> [String: String] {
        if let iban = form[path: prefix + [type, "iban"]] { return texts(of: type, iban: iban) }
        var texts: [String: String] = [:]
        for name in MethodType.all[type]?.parameters ?? [] {
            if let text = form[path: prefix + [type, name]] { texts[name] = text }
        }
        for part in ["day", "month", "year"] {
            texts["dob_\(part)"] = form[path: prefix + [type, "dob", part]]
        }
        if let number = texts.removeValue(forKey: "account_number") {
            texts["last4"] = String(number.suffix(4))
            texts["fingerprint"] = SandboxCard.fingerprint(of: number)
        }
        if type == "us_bank_account" {
            texts["account_holder_type"] = texts["account_holder_type"] ?? "individual"
            texts["account_type"] = texts["account_type"] ?? "checking"
            texts["last4"] = texts["last4"] ?? "6789"
            texts["routing_number"] = texts["routing_number"] ?? "110000000"
        }
        if ["acss_debit", "us_bank_account"].contains(type) {
            texts["bank_name"] = "STRIPE TEST BANK"
        }
        return texts
    }

    /// Returns the fields of an IBAN; the bank code follows the country and the check digits.
    static func texts(of type: String, iban: String) -> [String: String] {
        let plain = iban.filter { $0 != " " }.uppercased()
        return [
            "bank_code": String(plain.dropFirst(4).prefix(8)), "branch_code": "",
            "country": String(plain.prefix(2)), "last4": String(plain.suffix(4)),
            "fingerprint": SandboxCard.fingerprint(of: plain),
        ]
    }

    static func render(_ texts: [String: String], of type: String, into writer: inout JSONWriter) {
        writer.object { writer in
            for name in MethodType.all[type]?.responseFields ?? [] {
                switch name {
                case "dob" where texts["dob_year"] != nil:
                    writer.object(name) { writer in
                        for part in ["day", "month", "year"] {
                            writer.field(part, texts["dob_\(part)"].flatMap { Int(decimal: $0) })
                        }
                    }
                case "generated_from":
                    writer.object(name) { $0.nulls("charge", "setup_attempt") }
                case "networks":
                    writer.object(name) { writer in
                        writer.field("preferred", "ach")
                        writer.field("supported", ["ach"])
                    }
                default: writer.field(name, texts[name])
                }
            }
        }
    }
}
