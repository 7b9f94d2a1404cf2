/// The payment method of a Source; the hash of the same name holds its details.
public struct SourceType: OpenEnum {
    /// US bank transfer made by the customer; receiver, reusable.
    public static let achCreditTransfer = Self(rawValue: "ach_credit_transfer")

    /// US bank debit, verified with micro-deposits.
    public static let achDebit = Self(rawValue: "ach_debit")

    /// Canadian pre-authorised debit.
    public static let acssDebit = Self(rawValue: "acss_debit")

    /// Alipay (China); redirect, single-use or reusable.
    public static let alipay = Self(rawValue: "alipay")

    /// Australian bank debit.
    public static let auBecsDebit = Self(rawValue: "au_becs_debit")

    /// Bancontact (Belgium); redirect.
    public static let bancontact = Self(rawValue: "bancontact")

    /// A card; chargeable immediately.
    public static let card = Self(rawValue: "card")

    /// A card read by a terminal.
    public static let cardPresent = Self(rawValue: "card_present")

    /// EPS (Austria); redirect.
    public static let eps = Self(rawValue: "eps")

    /// Giropay (Germany); redirect.
    public static let giropay = Self(rawValue: "giropay")

    /// iDEAL (Netherlands); redirect.
    public static let ideal = Self(rawValue: "ideal")

    /// Klarna; redirect.
    public static let klarna = Self(rawValue: "klarna")

    /// Multibanco (Portugal); paid at an ATM within seven days.
    public static let multibanco = Self(rawValue: "multibanco")

    /// Przelewy24 (Poland); redirect.
    public static let p24 = Self(rawValue: "p24")

    /// European bank transfer made by the customer.
    public static let sepaCreditTransfer = Self(rawValue: "sepa_credit_transfer")

    /// European direct debit; chargeable immediately, may fail days later.
    public static let sepaDebit = Self(rawValue: "sepa_debit")

    /// Sofort (Europe); redirect, the charge stays pending for days.
    public static let sofort = Self(rawValue: "sofort")

    /// A card that needs authentication; redirect.
    public static let threeDSecure = Self(rawValue: "three_d_secure")

    /// WeChat Pay (China); a QR code or the app, although the flow is `none`.
    public static let wechat = Self(rawValue: "wechat")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "ach_credit_transfer", "ach_debit", "acss_debit", "alipay", "au_becs_debit", "bancontact",
        "card", "card_present", "eps", "giropay", "ideal", "klarna", "multibanco", "p24",
        "sepa_credit_transfer", "sepa_debit", "sofort", "three_d_secure", "wechat",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
