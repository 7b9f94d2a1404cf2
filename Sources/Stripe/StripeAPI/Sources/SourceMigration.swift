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
        case ended
        /// Stripe is to turn it off; when, it says by mail.
        case turnedOff = "turned_off"
        /// It stays, without anything new.
        case stays
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
        func to(
            _ method: String,
            _ advice: String,
            _ urgency: SourceMigration.Urgency = .turnedOff
        ) -> SourceMigration {
            SourceMigration(paymentMethod: method, urgency: urgency, advice: advice)
        }
        let redirect = "Confirm with return_url; no charge is created by you."
        return [
            .achCreditTransfer: to(
                "customer_balance",
                "Bank transfer of type us_bank_transfer; the customers' account numbers stay."
            ),
            .achDebit: to(
                "us_bank_account",
                "Verified at once or by micro-deposits; accounts that are verified move without."
            ),
            .acssDebit: to("acss_debit", "A SetupIntent takes the mandate."),
            .alipay: to("alipay", redirect),
            .auBecsDebit: to("au_becs_debit", "A SetupIntent takes the mandate."),
            .bancontact: to("bancontact", redirect),
            .card: to(
                "card",
                "A saved card source works as payment_method as it is; 3D Secure is asked for when needed.",
                .stays
            ),
            .cardPresent: to("card_present", "Terminal's SDKs use PaymentIntents.", .stays),
            .eps: to("eps", redirect),
            .giropay: to(
                "none",
                "giropay ended on 2024-06-30; offer SEPA, cards or another method in Germany.",
                .ended
            ),
            .ideal: to("ideal", redirect),
            .klarna: to("klarna", redirect),
            .multibanco: to(
                "multibanco",
                "Entity and reference are in next_action.multibanco_display_details."
            ),
            .p24: to("p24", redirect),
            .sepaCreditTransfer: to(
                "customer_balance",
                "Bank transfer of type eu_bank_transfer; customers get new account numbers."
            ),
            .sepaDebit: to(
                "sepa_debit",
                "A SetupIntent takes the mandate; saved sources move through the Dashboard."
            ),
            .sofort: to("klarna", "sofort has ended; Klarna has taken its place.", .ended),
            .threeDSecure: to(
                "card",
                "No object of its own: the intent asks for it with requires_action.",
                .stays
            ),
            .wechat: to(
                "wechat_pay",
                "The code is in next_action.wechat_pay_display_qr_code."
            ),
        ]
    }()
}
