/// A Klarna payment and the ways to pay on offer.
public struct SourceKlarnaDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The page's background.
    public let backgroundImageURL: String?
    /// Starts Klarna's own widget; a secret of this payment.
    public let clientToken: String?
    /// The customer's first name.
    public let firstName: String?
    /// The customer's last name.
    public let lastName: String?
    /// The page's locale, as `de-AT`.
    public let locale: String?
    /// The shop's logo on the page.
    public let logoURL: String?
    /// The page's title.
    public let pageTitle: String?
    /// The badge with words for paying later.
    public let payLaterAssetURLsDescriptive: String?
    /// The badge for paying later.
    public let payLaterAssetURLsStandard: String?
    /// What Klarna calls paying later.
    public let payLaterName: String?
    /// Where the customer goes for paying later.
    public let payLaterRedirectURL: String?
    /// The badge with words for paying now.
    public let payNowAssetURLsDescriptive: String?
    /// The badge for paying now.
    public let payNowAssetURLsStandard: String?
    /// What Klarna calls paying now.
    public let payNowName: String?
    /// Where the customer goes for paying now.
    public let payNowRedirectURL: String?
    /// The badge with words for paying in instalments.
    public let payOverTimeAssetURLsDescriptive: String?
    /// The badge for paying in instalments.
    public let payOverTimeAssetURLsStandard: String?
    /// What Klarna calls paying in instalments.
    public let payOverTimeName: String?
    /// Where the customer goes for paying in instalments.
    public let payOverTimeRedirectURL: String?
    /// The ways to pay on offer, separated by commas.
    public let paymentMethodCategories: String?
    /// Two letters, ISO 3166.
    public let purchaseCountry: String?
    /// `buy`, `rent`, `book` or `subscribe`.
    public let purchaseType: String?
    /// Where the customer goes to choose.
    public let redirectURL: String?
    /// Days until the goods are sent.
    public let shippingDelay: Int?
    /// The receiver's first name.
    public let shippingFirstName: String?
    /// The receiver's last name.
    public let shippingLastName: String?

    private enum CodingKeys: String, SnakeKey {
        case locale, backgroundImageURL, clientToken, firstName, lastName, logoURL, pageTitle,
            payLaterName, payLaterRedirectURL, payNowName, payNowRedirectURL, payOverTimeName,
            payOverTimeRedirectURL, paymentMethodCategories, purchaseCountry, purchaseType,
            redirectURL, shippingDelay, shippingFirstName, shippingLastName
        case payLaterAssetURLsDescriptive = "pay_later_asset_urls_descriptive"
        case payLaterAssetURLsStandard = "pay_later_asset_urls_standard"
        case payNowAssetURLsDescriptive = "pay_now_asset_urls_descriptive"
        case payNowAssetURLsStandard = "pay_now_asset_urls_standard"
        case payOverTimeAssetURLsDescriptive = "pay_over_time_asset_urls_descriptive"
        case payOverTimeAssetURLsStandard = "pay_over_time_asset_urls_standard"
    }
}
