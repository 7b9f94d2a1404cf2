/// The details the SDKs name, each nil for a Source of another type.
extension Source {
    /// The card, for type `card`.
    public var cardDetails: SourceCardDetails? {
        guard case .card(let details) = details else { return nil }
        return details
    }

    /// The ways to pay on offer, for type `klarna`.
    public var klarnaDetails: SourceKlarnaDetails? {
        guard case .klarna(let details) = details else { return nil }
        return details
    }

    /// The account and its mandate, for type `sepa_debit`.
    public var sepaDebitDetails: SourceSEPADebitDetails? {
        guard case .sepaDebit(let details) = details else { return nil }
        return details
    }

    /// The QR code and the app's link, for type `wechat`.
    public var weChatPayDetails: SourceWeChatDetails? {
        guard case .weChat(let details) = details else { return nil }
        return details
    }
}
