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

    private enum CodingKeys: String, CodingKey {
        case brand, country, fingerprint, funding, last4, reader
        case applicationCryptogram = "application_cryptogram"
        case applicationPreferredName = "application_preferred_name"
        case authorizationCode = "authorization_code"
        case authorizationResponseCode = "authorization_response_code"
        case cvmType = "cvm_type"
        case dataType = "data_type"
        case dedicatedFileName = "dedicated_file_name"
        case emvAuthData = "emv_auth_data"
        case evidenceCustomerSignature = "evidence_customer_signature"
        case evidenceTransactionCertificate = "evidence_transaction_certificate"
        case expMonth = "exp_month"
        case expYear = "exp_year"
        case posDeviceID = "pos_device_id"
        case posEntryMode = "pos_entry_mode"
        case readMethod = "read_method"
        case terminalVerificationResults = "terminal_verification_results"
        case transactionStatusInformation = "transaction_status_information"
    }
}
