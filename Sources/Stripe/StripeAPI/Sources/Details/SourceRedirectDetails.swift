/// The Dutch account of an iDEAL payment; empty until the customer has paid.
public struct SourceIdealDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank, for example `ing`; `nil` lets the customer choose.
    public let bank: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bank, bic, ibanLast4, statementDescriptor
    }
}

/// The account of a Sofort payment; empty until the customer has paid.
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
    /// The language of the authorisation page, for example `de`.
    public let preferredLanguage: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, country, bankCode, bankName, ibanLast4, preferredLanguage, statementDescriptor
    }
}

/// The Belgian account of a Bancontact payment; empty until the customer has paid.
public struct SourceBancontactDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The language of the authorisation page, for example `de`.
    public let preferredLanguage: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, bankCode, bankName, ibanLast4, preferredLanguage, statementDescriptor
    }
}

/// The German account of a Giropay payment; empty until the customer has paid.
public struct SourceGiropayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, bankCode, bankName, statementDescriptor
    }
}

/// The details of an Austrian EPS payment.
public struct SourceEPSDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's reference.
    public let reference: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case reference, statementDescriptor
    }
}

/// The details of a Przelewy24 payment.
public struct SourceP24Details: Codable, Hashable, Sendable, RedactedValue {
    /// Przelewy24's reference.
    public let reference: String?

    private enum CodingKeys: String, CodingKey {
        case reference
    }
}

/// The links of an Alipay payment.
public struct SourceAlipayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The data for the Alipay app's SDK.
    public let dataString: String?
    /// A link that opens the Alipay app; `nil` when the Source was created without an app bundle ID.
    public let nativeURL: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case dataString, nativeURL, statementDescriptor
    }
}

/// The links of a WeChat Pay payment.
///
/// The flow is `none`, although the customer must act.
public struct SourceWeChatDetails: Codable, Hashable, Sendable, RedactedValue {
    /// A link that opens the WeChat app on an iPhone.
    public let iosNativeURL: String?
    /// The ID of the prepared payment.
    public let prepayID: String?
    /// The content of the QR code, `weixin://…`.
    public let qrCodeURL: String?
    /// The statement descriptor as sent to the bank.
    public let statementDescriptor: String?

    private enum CodingKeys: String, SnakeKey {
        case iosNativeURL, prepayID, qrCodeURL, statementDescriptor
    }
}
