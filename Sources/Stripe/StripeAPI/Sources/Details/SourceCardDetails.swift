/// Card details; see <https://docs.stripe.com/sources/cards>.
public struct SourceCardDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The result of the street address check: `pass`, `fail`, `unavailable` or `unchecked`.
    public let addressLine1Check: String?
    /// The result of the postal code check, with the same values.
    public let addressZipCheck: String?
    /// The card brand, for example `Visa` or `American Express`.
    public let brand: String?
    /// The issuer's two-letter country code.
    public let country: String?
    /// The result of the CVC check, with the same values.
    public let cvcCheck: String?
    /// The last four digits of the device account number (Apple Pay).
    public let dynamicLast4: String?
    /// The expiry month, 1 to 12.
    public let expMonth: Int?
    /// The expiry year, four digits.
    public let expYear: Int?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The funding type: credit, debit or prepaid.
    public let funding: CardFunding?
    /// The last four digits.
    public let last4: String?
    /// The cardholder's name.
    public let name: String?
    /// Whether 3D Secure is required, recommended, optional or not supported.
    public let threeDSecure: CardThreeDSecure?
    /// The wallet that supplied the card number, for example `apple_pay`.
    public let tokenizationMethod: String?

    private enum CodingKeys: String, SnakeKey {
        case brand, country, fingerprint, funding, last4, name, addressLine1Check, addressZipCheck,
            cvcCheck, dynamicLast4, expMonth, expYear, threeDSecure, tokenizationMethod
    }
}

extension SourceCardDetails {
    /// Whether the card number came from Apple Pay.
    public var isApplePay: Bool { tokenizationMethod == "apple_pay" }
}

/// Details of a card read by a terminal; most fields come from the chip (EMV).
public struct SourceCardPresentDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The chip's cryptogram of the transaction.
    public let applicationCryptogram: String?
    /// The application name shown by the card.
    public let applicationPreferredName: String?
    /// The issuer's authorisation code.
    public let authorizationCode: String?
    /// The issuer's response code, EMV tag 8A.
    public let authorizationResponseCode: String?
    /// The card brand.
    public let brand: String?
    /// The issuer's two-letter country code.
    public let country: String?
    /// How the cardholder was verified: PIN, signature or none.
    public let cvmType: String?
    /// How the data was read, for example `emv` or `magstripe`.
    public let dataType: String?
    /// The application's ID on the chip (AID).
    public let dedicatedFileName: String?
    /// The raw EMV data of the authorisation.
    public let emvAuthData: String?
    /// The customer's signature, if one was taken.
    public let evidenceCustomerSignature: String?
    /// The chip's certificate of the completed transaction.
    public let evidenceTransactionCertificate: String?
    /// The expiry month, 1 to 12.
    public let expMonth: Int?
    /// The expiry year, four digits.
    public let expYear: Int?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The funding type: credit, debit or prepaid.
    public let funding: CardFunding?
    /// The last four digits.
    public let last4: String?
    /// The terminal's ID.
    public let posDeviceID: String?
    /// How the card data was entered.
    public let posEntryMode: String?
    /// How the card was read, for example `contact_emv`.
    public let readMethod: String?
    /// The reader's ID.
    public let reader: String?
    /// The terminal verification results, EMV tag 95.
    public let terminalVerificationResults: String?
    /// The transaction status information, EMV tag 9B.
    public let transactionStatusInformation: String?

    private enum CodingKeys: String, SnakeKey {
        case brand, country, fingerprint, funding, last4, reader, applicationCryptogram,
            applicationPreferredName, authorizationCode, authorizationResponseCode, cvmType,
            dataType, dedicatedFileName, emvAuthData, evidenceCustomerSignature,
            evidenceTransactionCertificate, expMonth, expYear, posDeviceID, posEntryMode,
            readMethod, terminalVerificationResults, transactionStatusInformation
    }
}

/// Details of a card payment with 3D Secure, including the card.
public struct SourceThreeDSecureDetails: Codable, Hashable, Sendable, RedactedValue {
    /// Whether the customer was authenticated.
    public let authenticated: Bool?
    /// The card Source used, `src_…`.
    public let card: String?
    /// The customer that owns the card.
    public let customer: String?
    /// The result of the street address check: `pass`, `fail`, `unavailable` or `unchecked`.
    public let addressLine1Check: String?
    /// The result of the postal code check, with the same values.
    public let addressZipCheck: String?
    /// The card brand, for example `Visa` or `American Express`.
    public let brand: String?
    /// The issuer's two-letter country code.
    public let country: String?
    /// The result of the CVC check, with the same values.
    public let cvcCheck: String?
    /// The last four digits of the device account number (Apple Pay).
    public let dynamicLast4: String?
    /// The expiry month, 1 to 12.
    public let expMonth: Int?
    /// The expiry year, four digits.
    public let expYear: Int?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The funding type: credit, debit or prepaid.
    public let funding: CardFunding?
    /// The last four digits.
    public let last4: String?
    /// The cardholder's name.
    public let name: String?
    /// Whether 3D Secure is required, recommended, optional or not supported.
    public let threeDSecure: CardThreeDSecure?
    /// The wallet that supplied the card number, for example `apple_pay`.
    public let tokenizationMethod: String?

    private enum CodingKeys: String, SnakeKey {
        case authenticated, card, customer, brand, country, fingerprint, funding, last4, name,
            addressLine1Check, addressZipCheck, cvcCheck, dynamicLast4, expMonth, expYear,
            threeDSecure, tokenizationMethod
    }
}

/// The funding type of a card.
public struct CardFunding: OpenEnum {
    /// A credit card.
    public static let credit = Self(rawValue: "credit")

    /// A debit card.
    public static let debit = Self(rawValue: "debit")

    /// A prepaid card.
    public static let prepaid = Self(rawValue: "prepaid")

    /// Unknown.
    public static let unknown = Self(rawValue: "unknown")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "credit", "debit", "prepaid", "unknown",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Whether a card needs 3D Secure.
public struct CardThreeDSecure: OpenEnum {
    /// Required: a charge without 3D Secure is declined.
    public static let required = Self(rawValue: "required")

    /// Recommended: accepted without 3D Secure, but better with it.
    public static let recommended = Self(rawValue: "recommended")

    /// Optional, with little benefit.
    public static let optional = Self(rawValue: "optional")

    /// Not supported by the card.
    public static let notSupported = Self(rawValue: "not_supported")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "required", "recommended", "optional", "not_supported",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
