/// A payment method by the upstream's name: `ideal`, `sepa_debit`, `card`.
package struct PaymentMethod: Hashable, Sendable, CustomStringConvertible {
    /// The name in lower case.
    package let name: String

    package var description: String { name }

    /// Creates a method from any name; `nil` for an empty one.
    package init?(_ name: String?) {
        guard let name, !name.isEmpty else { return nil }
        self.name = name.lowercased()
    }

    /// The known traits of the method.
    package var traits: MethodTraits { MethodTraits.table[name] ?? .unknown }

    /// Whether the table of traits has an entry for it.
    package var isKnown: Bool { MethodTraits.table[name] != nil }
}

/// The traits of a payment method: the answer time of its bank, and the time in which its payer may take the money
/// back.
///
/// *Units*: calendar days. A business day counts as 7/5 of one, and four days are added for holidays.
/// | methods | the bank answers | the payer may take it back | a source lives pending, then chargeable |
/// |---|---|---|---|
/// | bancontact, giropay, ideal, p24 | at once | never | 1 h, 6 h |
/// | eps | at once | never ¹ | –, – ¹ |
/// | three_d_secure | at once | 150 d ² | –, – ¹ |
/// | sofort | within 14 d | never | 1 h, 6 h |
/// | alipay, wechat, wechat_pay | at once | never ¹ | 1 h, 6 h |
/// | multibanco | at once, some days after the transfer | never | 7 d, 6 h |
/// | card, kr_card, link, wallets of cards | at once | 150 d ² | –, – |
/// | sepa_debit | within 24 d (14 business days) | 400 d: 8 weeks, or 13 months ² if never agreed to | –, – |
/// | us_bank_account, ach_debit | within 10 d (4 business days) | 70 d: 60 d to notify the bank | –, – |
/// | acss_debit | within 11 d (5 business days) | 100 d ¹ | –, – |
/// | bacs_debit | within 14 d (7 business days) | 400 d: without limit ² | –, – |
/// | au_becs_debit, nz_bank_account | within 9 d (3 business days) | 400 d ¹ | –, – |
/// | paypal, and sellers on credit | at once | 180 d ² | –, – |
/// | blik, wallets with disputes | at once | 150 d ¹ | –, – |
/// | other wallets and payments from bank to bank | at once | never ¹ | –, – |
/// | boleto, oxxo, konbini | within 6 d (a business day or two) | never | –, – |
/// | bank transfers | when they arrive | never ¹ | –, – |
/// | crypto, custom, stripe_account, and unknown methods | within 30 d ¹ | 150 d ¹ | –, – |
///
/// ¹ not documented, or not found: the assumption is the one that watches longer and promises less. ² from third-party
/// descriptions of the scheme. *Source*: <https://docs.stripe.com/payments/payment-methods/overview> and the page of
/// each method; <https://support.stripe.com/questions/sepa-direct-debit-payment-disputes>;
/// <https://support.stripe.com/questions/disputes-for-ach-payments>.
///
/// The second table has the duration of uncaptured holds. Only card charges contain the end, as `capture_before`, which
/// has priority. For a method that is not in the table the end is unknown, and no action depends on it. If a method has
/// two durations and the charge names no end, warnings and captures follow the shorter one, everything else the longer
/// one.
///
/// | method | a hold lasts | source |
/// |---|---|---|
/// | card | 7 d; Visa 4 d 18 h where the merchant initiates | <https://docs.stripe.com/payments/place-a-hold-on-a-payment-method>, as changed 2024-04-14 |
/// | card_present | 2 d; Visa 4 d 18 h | the same page |
/// | klarna | 28 d | <https://docs.klarna.com>: an order must be captured within 28 days |
/// | afterpay_clearpay | 13 d | <https://developers.cash.app/cash-app-afterpay/api-reference/reference/payments/capture-payment> |
package struct MethodTraits: Hashable, Sendable {
    /// The longest answer time of a bank; zero if it answers at once.
    package let settles: Duration
    /// The time after the payment in which the payer or the bank may take it back without the shop; `nil` for never.
    package let reversibleFor: Duration?
    /// The duration of a hold whose charge does not contain it; `nil` if unknown.
    package let hold: Duration?
    /// The shortest duration of such a hold, which depends on facts that the charge does not contain; `nil` if unknown.
    package let shortestHold: Duration?
    /// The lifetime of its sources at the upstream.
    package let sourceLifetime: SourceLifetime
    /// Whether a consumed single-use source means that it was paid.
    package let isPaidOnceConsumed: Bool

    private init(
        settles: Int = 0,
        reversibleFor: Int? = nil,
        holdDays: Int? = nil,
        shortestHoldHours: Int? = nil,
        pendingHours: Int? = nil,
        chargeableHours: Int? = nil,
        isPaidOnceConsumed: Bool = false,
        endsWithDayInChina: Bool = false
    ) {
        self.settles = .seconds(settles * 86_400)
        self.reversibleFor = reversibleFor.map { .seconds($0 * 86_400) }
        let hold: Duration? = holdDays.map { .seconds($0 * 86_400) }
        self.hold = hold
        shortestHold = shortestHoldHours.map { Duration.seconds($0 * 3600) } ?? hold
        sourceLifetime = SourceLifetime(
            pending: pendingHours.map { .seconds($0 * 3600) },
            chargeable: chargeableHours.map { .seconds($0 * 3600) },
            endsWithDayInChina: endsWithDayInChina
        )
        self.isPaidOnceConsumed = isPaidOnceConsumed
    }

    /// The traits of an unknown method: its bank may answer late, and take the money back.
    package static let unknown = MethodTraits(settles: 30, reversibleFor: 150)

    /// The traits of any voucher: a payment at a cash desk is reported a business day or two later.
    package static let voucher = MethodTraits(settles: 6)

    static let table: [String: MethodTraits] = {
        var table: [String: MethodTraits] = [:]
        for (names, traits) in families {
            for name in names.split(separator: " ") { table[String(name)] = traits }
        }
        return table
    }()

    private static let families: [(names: String, traits: MethodTraits)] = [
        (
            "bancontact giropay ideal p24",
            MethodTraits(pendingHours: 1, chargeableHours: 6, isPaidOnceConsumed: true)
        ),
        ("eps", MethodTraits(isPaidOnceConsumed: true)),
        // The source of a card, whose charge may be a hold.
        ("three_d_secure", MethodTraits(reversibleFor: 150)),
        ("sofort", MethodTraits(settles: 14, pendingHours: 1, chargeableHours: 6)),
        (
            "alipay wechat wechat_pay",
            MethodTraits(
                pendingHours: 1,
                chargeableHours: 6,
                isPaidOnceConsumed: true,
                endsWithDayInChina: true
            )
        ),
        (
            "multibanco",
            MethodTraits(
                pendingHours: 7 * 24,
                chargeableHours: 6,
                isPaidOnceConsumed: true
            )
        ),
        ("card", MethodTraits(reversibleFor: 150, holdDays: 7, shortestHoldHours: 4 * 24 + 18)),
        ("card_present", MethodTraits(reversibleFor: 150, holdDays: 2)),
        (
            "interac_present kr_card link samsung_pay",
            MethodTraits(reversibleFor: 150)
        ),
        ("sepa_debit", MethodTraits(settles: 24, reversibleFor: 400)),
        ("us_bank_account ach_debit", MethodTraits(settles: 10, reversibleFor: 70)),
        ("acss_debit", MethodTraits(settles: 11, reversibleFor: 100)),
        ("bacs_debit", MethodTraits(settles: 14, reversibleFor: 400)),
        (
            "au_becs_debit nz_bank_account",
            MethodTraits(settles: 9, reversibleFor: 400)
        ),
        ("klarna", MethodTraits(reversibleFor: 180, holdDays: 28)),
        ("afterpay_clearpay", MethodTraits(reversibleFor: 180, holdDays: 13)),
        (
            "paypal affirm zip alma billie scalapay sequra sunbit",
            MethodTraits(reversibleFor: 180)
        ),
        ("blik amazon_pay cashapp revolut_pay", MethodTraits(reversibleFor: 150)),
        (
            "bizum fpx grabpay kakao_pay mb_way mobilepay naver_pay pay_by_bank payco paynow paypay "
                + "payto pix promptpay satispay swish twint upi",
            MethodTraits()
        ),
        ("boleto oxxo konbini", .voucher),
        (
            "customer_balance ach_credit_transfer sepa_credit_transfer",
            MethodTraits()
        ),
        ("crypto custom stripe_account", .unknown),
    ]
}
