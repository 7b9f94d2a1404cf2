package import PollerPayments

extension PayerWords {
    /// Returns the name of a payment method: its brand, or a generic term in this language.
    ///
    /// It is `nil` for an unknown method, because the upstream's identifier is not meant for payers.
    package func name(of method: PaymentMethod?) -> String? {
        guard let name = method?.name else { return nil }
        if let brand = Self.brands[name] { return brand }
        return Self.kinds[name].map { self("method.\($0)") }
    }

    /// The methods with a generic term in every language.
    static let kinds = [
        "card": "card", "card_present": "card", "interac_present": "card", "kr_card": "card",
        "three_d_secure": "card", "sepa_debit": "sepa_debit",
        "sepa_credit_transfer": "sepa_transfer", "customer_balance": "transfer",
        "ach_credit_transfer": "transfer", "ach_debit": "debit", "us_bank_account": "debit",
        "acss_debit": "debit", "bacs_debit": "debit", "au_becs_debit": "debit",
        "nz_bank_account": "debit",
    ]

    /// The brand names, which are the same in every language.
    ///
    /// *Source*: <https://docs.stripe.com/payments/payment-methods/overview>.
    private static let brands = [
        "affirm": "Affirm", "afterpay_clearpay": "Afterpay / Clearpay", "alipay": "Alipay",
        "alma": "Alma", "amazon_pay": "Amazon Pay", "bancontact": "Bancontact", "billie": "Billie",
        "bizum": "Bizum", "blik": "BLIK", "boleto": "Boleto", "cashapp": "Cash App Pay",
        "eps": "EPS",
        "fpx": "FPX", "giropay": "giropay", "grabpay": "GrabPay", "ideal": "iDEAL",
        "kakao_pay": "Kakao Pay", "klarna": "Klarna", "konbini": "Konbini", "link": "Link",
        "mb_way": "MB WAY", "mobilepay": "MobilePay", "multibanco": "Multibanco",
        "naver_pay": "Naver Pay", "oxxo": "OXXO", "p24": "Przelewy24", "pay_by_bank": "Pay by Bank",
        "payco": "PAYCO", "paynow": "PayNow", "paypal": "PayPal", "paypay": "PayPay",
        "payto": "PayTo", "pix": "Pix", "promptpay": "PromptPay", "revolut_pay": "Revolut Pay",
        "samsung_pay": "Samsung Pay", "satispay": "Satispay", "scalapay": "Scalapay",
        "sequra": "seQura", "sofort": "Sofort", "sunbit": "Sunbit", "swish": "Swish",
        "twint": "TWINT", "upi": "UPI", "wechat": "WeChat Pay", "wechat_pay": "WeChat Pay",
        "zip": "Zip",
    ]
}
