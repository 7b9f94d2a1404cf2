/// The payment method of a Source; the hash of the same name holds its details.
public struct SourceType: OpenValue {
    /// The method `bancontact`.
    public static let bancontact = Self(rawValue: "bancontact")

    /// The method `card`.
    public static let card = Self(rawValue: "card")

    /// The method `giropay`.
    public static let giropay = Self(rawValue: "giropay")

    /// The method `ideal`.
    public static let ideal = Self(rawValue: "ideal")

    /// The method `sepa_debit`.
    public static let sepaDebit = Self(rawValue: "sepa_debit")

    /// The method `sofort`.
    public static let sofort = Self(rawValue: "sofort")

    /// The method `three_d_secure`.
    public static let threeDSecure = Self(rawValue: "three_d_secure")

    /// The method `alipay`.
    public static let alipay = Self(rawValue: "alipay")

    /// The method `p24`.
    public static let p24 = Self(rawValue: "p24")

    /// The method `eps`.
    public static let eps = Self(rawValue: "eps")

    /// The method `multibanco`.
    public static let multibanco = Self(rawValue: "multibanco")

    /// The method `wechat`.
    public static let wechat = Self(rawValue: "wechat")

    /// The method `klarna`.
    public static let klarna = Self(rawValue: "klarna")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "bancontact", "card", "giropay", "ideal", "sepa_debit", "sofort", "three_d_secure",
        "alipay", "p24", "eps", "multibanco", "wechat", "klarna", "ach_credit_transfer",
        "ach_debit", "acss_debit", "au_becs_debit", "card_present", "sepa_credit_transfer",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
