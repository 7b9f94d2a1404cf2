/// A payment by card through 3D Secure, and what is known of the card.
public struct SourceThreeDSecureDetails: Codable, Hashable, Sendable, RedactedValue {
    /// Whether the customer passed.
    public let authenticated: Bool?
    /// The card source that is being paid with, `src_…`.
    public let card: String?
    /// The customer the card belongs to.
    public let customer: String?
    /// `pass`, `fail`, `unavailable` or `unchecked`, for the street.
    public let addressLine1Check: String?
    /// The same for the postal code.
    public let addressZipCheck: String?
    /// The brand in words, as `Visa` or `American Express`.
    public let brand: String?
    /// The issuer's country, two letters.
    public let country: String?
    /// The same for the CVC.
    public let cvcCheck: String?
    /// The last four digits of a device's account number (Apple Pay).
    public let dynamicLast4: String?
    /// The month of expiry, 1 to 12.
    public let expMonth: Int?
    /// The year of expiry, four digits.
    public let expYear: Int?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// Credit, debit or prepaid.
    public let funding: CardFunding?
    /// The last four digits.
    public let last4: String?
    /// The holder's name.
    public let name: String?
    /// Whether the customer must or may be sent through 3D Secure first.
    public let threeDSecure: CardThreeDSecure?
    /// The wallet the number came from, as `apple_pay`.
    public let tokenizationMethod: String?

    private enum CodingKeys: String, CodingKey {
        case authenticated, card, customer, brand, country, fingerprint, funding, last4, name
        case addressLine1Check = "address_line1_check"
        case addressZipCheck = "address_zip_check"
        case cvcCheck = "cvc_check"
        case dynamicLast4 = "dynamic_last4"
        case expMonth = "exp_month"
        case expYear = "exp_year"
        case threeDSecure = "three_d_secure"
        case tokenizationMethod = "tokenization_method"
    }
}
