/// A payment method by the name users write, with the options it needs and takes.
enum SourceMethod: String, CaseIterable {
    case bancontact, card, giropay, ideal
    case sepaDebit = "sepa_debit"
    case sofort, klarna
    case threeDSecure = "three_d_secure"
    case alipay
    case alipayReusable = "alipay_reusable"
    case p24
    case visaCheckout = "visa_checkout"
    case masterpass, eps, multibanco, wechat, bitcoin

    /// The options without which Stripe refuses it.
    var needs: [String] {
        switch self {
        case .bancontact, .giropay, .eps: ["amount", "name", "return-url"]
        case .ideal: ["amount", "return-url"]
        case .card: []
        case .sepaDebit: ["name", "iban"]
        case .sofort: ["amount", "return-url", "country"]
        case .klarna: ["currency", "return-url", "purchase-country", "item"]
        case .threeDSecure: ["amount", "currency", "return-url", "card"]
        case .alipay: ["amount", "currency", "return-url"]
        case .alipayReusable: ["currency", "return-url"]
        case .p24: ["amount", "currency", "email", "return-url"]
        case .visaCheckout: ["call-id"]
        case .masterpass: ["cart-id", "transaction-id"]
        case .multibanco: ["amount", "email", "return-url"]
        case .wechat: ["amount", "currency", "app-id"]
        case .bitcoin: ["amount", "currency", "email"]
        }
    }

    /// The options it takes beside those.
    var takes: [String] {
        switch self {
        case .bancontact, .giropay, .eps, .sofort, .wechat: ["statement-descriptor"]
        case .ideal: ["name", "statement-descriptor", "bank"]
        case .card:
            [
                "number", "cvc", "exp-month", "exp-year", "token", "name", "line1", "city",
                "postal-code", "country",
            ]
        case .sepaDebit: ["line1", "city", "postal-code", "country"]
        case .klarna:
            [
                "first-name", "last-name", "email", "phone", "line1", "city", "postal-code",
                "country",
            ]
        case .alipay: ["app-bundle-id", "app-version-key"]
        case .p24: ["name"]
        case .threeDSecure, .alipayReusable, .visaCheckout, .masterpass, .multibanco, .bitcoin: []
        }
    }
}
