/// A card; see <https://docs.stripe.com/sources/cards>.
public struct SourceCardDetails: Codable, Hashable, Sendable, RedactedValue {
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

    private enum CodingKeys: String, SnakeKey {
        case brand, country, fingerprint, funding, last4, name, addressLine1Check, addressZipCheck,
            cvcCheck, dynamicLast4, expMonth, expYear, threeDSecure, tokenizationMethod
    }
}

extension SourceCardDetails {
    /// Whether the number came from Apple Pay.
    public var isApplePay: Bool { tokenizationMethod == "apple_pay" }
}

/// A card read by a terminal; most fields are what its chip said (EMV).
public struct SourceCardPresentDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The chip's proof of this transaction.
    public let applicationCryptogram: String?
    /// The application's name as the card shows it.
    public let applicationPreferredName: String?
    /// The issuer's authorisation code.
    public let authorizationCode: String?
    /// The issuer's answer, as EMV tag 8A.
    public let authorizationResponseCode: String?
    /// The card's brand.
    public let brand: String?
    /// The issuer's country, two letters.
    public let country: String?
    /// How the holder was verified: pin, signature or nothing.
    public let cvmType: String?
    /// How the data was read, as `emv` or `magstripe`.
    public let dataType: String?
    /// The application's id on the chip (AID).
    public let dedicatedFileName: String?
    /// The raw EMV data of the authorisation.
    public let emvAuthData: String?
    /// The customer's signature, when one was taken.
    public let evidenceCustomerSignature: String?
    /// The chip's certificate of the finished transaction.
    public let evidenceTransactionCertificate: String?
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
    /// The terminal's id.
    public let posDeviceID: String?
    /// How the card entered the terminal.
    public let posEntryMode: String?
    /// How the card was read, as `contact_emv`.
    public let readMethod: String?
    /// The reader's id.
    public let reader: String?
    /// What the terminal checked, as EMV tag 95.
    public let terminalVerificationResults: String?
    /// What was done, as EMV tag 9B.
    public let transactionStatusInformation: String?

    private enum CodingKeys: String, SnakeKey {
        case brand, country, fingerprint, funding, last4, reader, applicationCryptogram,
            applicationPreferredName, authorizationCode, authorizationResponseCode, cvmType,
            dataType, dedicatedFileName, emvAuthData, evidenceCustomerSignature,
            evidenceTransactionCertificate, expMonth, expYear, posDeviceID, posEntryMode,
            readMethod, terminalVerificationResults, transactionStatusInformation
    }
}

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

    private enum CodingKeys: String, SnakeKey {
        case authenticated, card, customer, brand, country, fingerprint, funding, last4, name,
            addressLine1Check, addressZipCheck, cvcCheck, dynamicLast4, expMonth, expYear,
            threeDSecure, tokenizationMethod
    }
}

/// Where the money of a card comes from.
public struct CardFunding: OpenEnum {
    /// A credit card.
    public static let credit = Self(rawValue: "credit")

    /// A debit card.
    public static let debit = Self(rawValue: "debit")

    /// A prepaid card.
    public static let prepaid = Self(rawValue: "prepaid")

    /// The issuer does not say.
    public static let unknown = Self(rawValue: "unknown")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "credit", "debit", "prepaid", "unknown",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Whether a card asks for 3D Secure.
public struct CardThreeDSecure: OpenEnum {
    /// The charge would be declined without it.
    public static let required = Self(rawValue: "required")

    /// Accepted without it, better with it.
    public static let recommended = Self(rawValue: "recommended")

    /// Possible, without much use.
    public static let optional = Self(rawValue: "optional")

    /// The card cannot.
    public static let notSupported = Self(rawValue: "not_supported")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "required", "recommended", "optional", "not_supported",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
