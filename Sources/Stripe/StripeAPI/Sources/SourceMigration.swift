/// The replacement for a Source type.
///
/// Stripe has deprecated Sources and plans to remove support for local payment methods, but not yet for cards. Each
/// type has a PaymentMethod that replaces it, used with a ``PaymentIntent`` or, to save it, a ``SetupIntent``. Two
/// payment methods have ended permanently. The table is in <doc:MovingFromSources>.
/// *Source*: <https://docs.stripe.com/sources>, <https://docs.stripe.com/payments/payment-methods/transitioning>.
public struct SourceMigration: Hashable, Sendable {
    /// The urgency of a migration.
    public enum Urgency: String, Hashable, Sendable, Codable {
        /// The payment method has ended and can no longer be used.
        case discontinued = "ended"
        /// Stripe will remove support and announces the date by email.
        case removalPlanned = "turned_off"
        /// Support continues without new features.
        case supported = "stays"
    }

    /// The URL of Stripe's migration guide.
    public static let guideURL =
        "https://docs.stripe.com/payments/payment-methods/transitioning"

    /// The type of the PaymentMethod, for example `customer_balance`.
    public let paymentMethod: String
    /// The urgency.
    public let urgency: Urgency
    /// The differences, as a sentence for display.
    public let advice: String
}

extension SourceType {
    /// The replacement for this type; `nil` for a type this library does not know.
    public var migration: SourceMigration? { Self.migrations[self] }

    private static let migrations: [SourceType: SourceMigration] = {
        func replaced(
            by method: String,
            _ advice: String,
            _ urgency: SourceMigration.Urgency = .removalPlanned
        ) -> SourceMigration {
            SourceMigration(paymentMethod: method, urgency: urgency, advice: advice)
        }
        let redirect = "Confirm with return_url; no charge is created by you."
        return [
            .achCreditTransfer: replaced(
                by: "customer_balance",
                "Use a bank transfer of type us_bank_transfer; customers keep their account numbers."
            ),
            .achDebit: replaced(
                by: "us_bank_account",
                "Verified instantly or by micro-deposits; verified accounts migrate without verification."
            ),
            .acssDebit: replaced(by: "acss_debit", "A SetupIntent takes the mandate."),
            .alipay: replaced(by: "alipay", redirect),
            .auBecsDebit: replaced(by: "au_becs_debit", "A SetupIntent takes the mandate."),
            .bancontact: replaced(by: "bancontact", redirect),
            .card: replaced(
                by: "card",
                "A saved card source works as payment_method unchanged; 3D Secure is requested when needed.",
                .supported
            ),
            .cardPresent: replaced(
                by: "card_present",
                "Terminal's SDKs use PaymentIntents.",
                .supported
            ),
            .eps: replaced(by: "eps", redirect),
            .giropay: replaced(
                by: "none",
                "giropay ended on 2024-06-30; offer SEPA, cards or another method in Germany.",
                .discontinued
            ),
            .ideal: replaced(by: "ideal", redirect),
            .klarna: replaced(by: "klarna", redirect),
            .multibanco: replaced(
                by: "multibanco",
                "Entity and reference are in next_action.multibanco_display_details."
            ),
            .p24: replaced(by: "p24", redirect),
            .sepaCreditTransfer: replaced(
                by: "customer_balance",
                "Use a bank transfer of type eu_bank_transfer; customers get new account numbers."
            ),
            .sepaDebit: replaced(
                by: "sepa_debit",
                "A SetupIntent takes the mandate; saved sources migrate through the Dashboard."
            ),
            .sofort: replaced(
                by: "klarna",
                "sofort has ended; Klarna has taken its place.",
                .discontinued
            ),
            .threeDSecure: replaced(
                by: "card",
                "There is no separate object: the intent requests 3D Secure with requires_action.",
                .supported
            ),
            .wechat: replaced(
                by: "wechat_pay",
                "The code is in next_action.wechat_pay_display_qr_code."
            ),
        ]
    }()
}
