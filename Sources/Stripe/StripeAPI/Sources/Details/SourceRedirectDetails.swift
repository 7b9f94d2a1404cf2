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

    private enum CodingKeys: String, CodingKey {
        case bank, bic
        case ibanLast4 = "iban_last4"
        case statementDescriptor = "statement_descriptor"
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

    private enum CodingKeys: String, CodingKey {
        case bic, country
        case bankCode = "bank_code"
        case bankName = "bank_name"
        case ibanLast4 = "iban_last4"
        case preferredLanguage = "preferred_language"
        case statementDescriptor = "statement_descriptor"
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

    private enum CodingKeys: String, CodingKey {
        case bic
        case bankCode = "bank_code"
        case bankName = "bank_name"
        case ibanLast4 = "iban_last4"
        case preferredLanguage = "preferred_language"
        case statementDescriptor = "statement_descriptor"
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

    private enum CodingKeys: String, CodingKey {
        case bic
        case bankCode = "bank_code"
        case bankName = "bank_name"
        case statementDescriptor = "statement_descriptor"
    }
}

/// An Austrian EPS payment.
public struct SourceEPSDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's reference.
    public let reference: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case reference
        case statementDescriptor = "statement_descriptor"
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

    private enum CodingKeys: String, CodingKey {
        case dataString = "data_string"
        case nativeURL = "native_url"
        case statementDescriptor = "statement_descriptor"
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

    private enum CodingKeys: String, CodingKey {
        case iosNativeURL = "ios_native_url"
        case prepayID = "prepay_id"
        case qrCodeURL = "qr_code_url"
        case statementDescriptor = "statement_descriptor"
    }
}
