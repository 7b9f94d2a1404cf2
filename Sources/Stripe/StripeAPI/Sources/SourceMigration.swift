/// What takes the place of a Source type.
///
/// Stripe has deprecated Sources: support of local methods is to be turned off, that of cards is not, for now. Each type
/// has a PaymentMethod in its place, used with a ``PaymentIntent`` or, to keep it, a ``SetupIntent``; two methods have
/// ended for good. The table is in <doc:MovingFromSources>.
/// *Source*: <https://docs.stripe.com/sources>, <https://docs.stripe.com/payments/payment-methods/transitioning>.
public struct SourceMigration: Hashable, Sendable {
    /// How urgent it is.
    public enum Urgency: String, Hashable, Sendable, Codable {
        /// The method itself has ended: nobody can pay by it any more.
        case discontinued = "ended"
        /// Stripe is to turn it off; when, it says by mail.
        case removalPlanned = "turned_off"
        /// It stays, without anything new.
        case supported = "stays"
    }

    /// Stripe's guide.
    public static let guideURL =
        "https://docs.stripe.com/payments/payment-methods/transitioning"

    /// The type of the PaymentMethod, as `customer_balance`.
    public let paymentMethod: String
    /// How urgent it is.
    public let urgency: Urgency
    /// What is different, in a sentence for people.
    public let advice: String
}

extension SourceType {
    /// What takes the place of this type; nil for one that this library does not know.
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
                "Bank transfer of type us_bank_transfer; the customers' account numbers stay."
            ),
            .achDebit: replaced(
                by: "us_bank_account",
                "Verified at once or by micro-deposits; accounts that are verified move without."
            ),
            .acssDebit: replaced(by: "acss_debit", "A SetupIntent takes the mandate."),
            .alipay: replaced(by: "alipay", redirect),
            .auBecsDebit: replaced(by: "au_becs_debit", "A SetupIntent takes the mandate."),
            .bancontact: replaced(by: "bancontact", redirect),
            .card: replaced(
                by: "card",
                "A saved card source works as payment_method as it is; 3D Secure is asked for when needed.",
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
                "Bank transfer of type eu_bank_transfer; customers get new account numbers."
            ),
            .sepaDebit: replaced(
                by: "sepa_debit",
                "A SetupIntent takes the mandate; saved sources move through the Dashboard."
            ),
            .sofort: replaced(
                by: "klarna",
                "sofort has ended; Klarna has taken its place.",
                .discontinued
            ),
            .threeDSecure: replaced(
                by: "card",
                "No object of its own: the intent asks for it with requires_action.",
                .supported
            ),
            .wechat: replaced(
                by: "wechat_pay",
                "The code is in next_action.wechat_pay_display_qr_code."
            ),
        ]
    }()
}
