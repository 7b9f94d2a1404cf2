/// Details of a Klarna payment and the offered payment options.
public struct SourceKlarnaDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The background image of the page.
    public let backgroundImageURL: String?
    /// The token that starts Klarna's widget; a secret of this payment.
    public let clientToken: String?
    /// The customer's first name.
    public let firstName: String?
    /// The customer's last name.
    public let lastName: String?
    /// The locale of the page, for example `de-AT`.
    public let locale: String?
    /// The shop's logo on the page.
    public let logoURL: String?
    /// The page's title.
    public let pageTitle: String?
    /// The descriptive badge for paying later.
    public let payLaterAssetURLsDescriptive: String?
    /// The badge for paying later.
    public let payLaterAssetURLsStandard: String?
    /// Klarna's name for paying later.
    public let payLaterName: String?
    /// The redirect URL for paying later.
    public let payLaterRedirectURL: String?
    /// The descriptive badge for paying now.
    public let payNowAssetURLsDescriptive: String?
    /// The badge for paying now.
    public let payNowAssetURLsStandard: String?
    /// Klarna's name for paying now.
    public let payNowName: String?
    /// The redirect URL for paying now.
    public let payNowRedirectURL: String?
    /// The descriptive badge for paying in instalments.
    public let payOverTimeAssetURLsDescriptive: String?
    /// The badge for paying in instalments.
    public let payOverTimeAssetURLsStandard: String?
    /// Klarna's name for paying in instalments.
    public let payOverTimeName: String?
    /// The redirect URL for paying in instalments.
    public let payOverTimeRedirectURL: String?
    /// The offered payment options, separated by commas.
    public let paymentMethodCategories: String?
    /// The ISO 3166 country code: two letters.
    public let purchaseCountry: String?
    /// `buy`, `rent`, `book` or `subscribe`.
    public let purchaseType: String?
    /// The redirect URL of the selection page.
    public let redirectURL: String?
    /// The number of days until the goods are shipped.
    public let shippingDelay: Int?
    /// The recipient's first name.
    public let shippingFirstName: String?
    /// The recipient's last name.
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
