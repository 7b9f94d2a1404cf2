/// The Dutch account that paid through iDEAL; empty until it did.
public struct SourceIdealDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank, as `ing`; the customer chooses when nil.
    public let bank: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bank, bic, ibanLast4, statementDescriptor
    }
}

/// The account that paid through Sofort; empty until it did.
public struct SourceSofortDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The bank's country, two letters.
    public let country: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The language of the authorisation page, as `de`.
    public let preferredLanguage: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, country, bankCode, bankName, ibanLast4, preferredLanguage, statementDescriptor
    }
}

/// The Belgian account that paid through Bancontact; empty until it did.
public struct SourceBancontactDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The language of the authorisation page, as `de`.
    public let preferredLanguage: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, bankCode, bankName, ibanLast4, preferredLanguage, statementDescriptor
    }
}

/// The German account that paid through Giropay; empty until it did.
public struct SourceGiropayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, bankCode, bankName, statementDescriptor
    }
}

/// An Austrian EPS payment.
public struct SourceEPSDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's reference.
    public let reference: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case reference, statementDescriptor
    }
}

/// A Przelewy24 payment.
public struct SourceP24Details: Codable, Hashable, Sendable, RedactedValue {
    /// Przelewy24's reference.
    public let reference: String?

    private enum CodingKeys: String, CodingKey {
        case reference
    }
}

/// How the customer reaches Alipay.
public struct SourceAlipayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// What the Alipay app is handed by its own SDK.
    public let dataString: String?
    /// Opens the Alipay app; nil when the source was made without an app's bundle id.
    public let nativeURL: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case dataString, nativeURL, statementDescriptor
    }
}

/// How the customer reaches WeChat Pay; the flow is `none`, and yet somebody must act.
public struct SourceWeChatDetails: Codable, Hashable, Sendable, RedactedValue {
    /// Opens the WeChat app on an iPhone.
    public let iosNativeURL: String?
    /// The id of the prepared payment.
    public let prepayID: String?
    /// The text of the QR code to show; `weixin://…`.
    public let qrCodeURL: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case iosNativeURL, prepayID, qrCodeURL, statementDescriptor
    }
}
