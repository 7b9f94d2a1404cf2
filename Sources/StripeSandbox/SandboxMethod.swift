/// A payment method of an intent: its id and type, and whether a card is declined or asks the customer.
struct SandboxMethod {
    let id: String
    let type: String
    var isDeclined = false
    var needsRedirect: Bool

    /// Methods that send the customer to a page.
    static let redirectTypes: Set<String> = [
        "bancontact", "giropay", "ideal", "sofort", "p24", "eps", "alipay", "klarna", "wechat_pay",
        "amazon_pay", "revolut_pay", "twint",
    ]

    /// Methods whose success is known only days later; here after the automatic delay.
    static let asynchronousTypes: Set<String> = ["sofort", "sepa_debit"]

    init(id: String, type: String) {
        self.id = id
        self.type = type
        needsRedirect = Self.redirectTypes.contains(type)
    }

    /// One of Stripe's documented test methods, such as `pm_card_visa`.
    init?(testName name: String) {
        guard name.hasPrefix("pm_card_") else { return nil }
        id = name
        type = "card"
        isDeclined = name.contains("Declined") || name.contains("declined")
        needsRedirect = name.contains("threeDSecure") || name.contains("authenticationRequired")
    }
}
