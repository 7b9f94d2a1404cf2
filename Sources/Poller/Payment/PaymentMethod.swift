/// A way to pay, by the name the upstream has for it: `ideal`, `sepa_debit`, `card`.
package struct PaymentMethod: Hashable, Sendable, CustomStringConvertible {
    /// Lower case.
    package let name: String

    package var description: String { name }

    /// Takes any name; nil for an empty one.
    package init?(_ name: String?) {
        guard let name, !name.isEmpty else { return nil }
        self.name = name.lowercased()
    }

    /// What is known of it.
    package var traits: MethodTraits { MethodTraits.table[name] ?? .unknown }

    /// Whether it has an entry of its own.
    package var isKnown: Bool { MethodTraits.table[name] != nil }
}

/// What is known of a way to pay: how long its bank takes, and how long its payer may take it back.
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
/// | us_bank_account, ach_debit | within 10 d (4 business days) | 70 d: 60 d to tell the bank | –, – |
/// | acss_debit | within 11 d (5 business days) | 100 d ¹ | –, – |
/// | bacs_debit | within 14 d (7 business days) | 400 d: without limit ² | –, – |
/// | au_becs_debit, nz_bank_account | within 9 d (3 business days) | 400 d ¹ | –, – |
/// | paypal, and who sells on credit | at once | 180 d ² | –, – |
/// | blik, wallets with disputes | at once | 150 d ¹ | –, – |
/// | other wallets and payments from bank to bank | at once | never ¹ | –, – |
/// | boleto, oxxo, konbini | within 6 d (a business day or two) | never | –, – |
/// | bank transfers | when they arrive | never ¹ | –, – |
/// | crypto, custom, stripe_account, and whatever is not known | within 30 d ¹ | 150 d ¹ | –, – |
///
/// ¹ not documented, or not found: assumed on the side that watches longer and promises less.
/// ² from what others say of the scheme.
/// *Source*: <https://docs.stripe.com/payments/payment-methods/overview> and the page of each method;
/// <https://support.stripe.com/questions/sepa-direct-debit-payment-disputes>;
/// <https://support.stripe.com/questions/disputes-for-ach-payments>.
///
/// How long money is held that nobody captures. Only charges of cards name the end, as `capture_before`; where a
/// charge does, that holds. Of a method that is not in this table no end is known, and nothing is done by it.
///
/// | method | a hold lasts | source |
/// |---|---|---|
/// | card | 7 d; Visa 4 d 18 h where the merchant initiates | <https://docs.stripe.com/payments/place-a-hold-on-a-payment-method>, as changed 2024-04-14 |
/// | card_present | 2 d; Visa 4 d 18 h | the same page |
/// | klarna | 28 d | <https://docs.klarna.com>: an order must be captured within 28 days |
/// | afterpay_clearpay | 13 d | <https://developers.cash.app/cash-app-afterpay/api-reference/reference/payments/capture-payment> |
package struct MethodTraits: Hashable, Sendable {
    /// What the customer does for it, before the bank has its turn.
    package enum Act: Hashable, Sendable {
        /// Nothing after the shop's own form: a card's number, a mandate.
        case nothing
        /// Goes to a page or an app, and confirms there.
        case confirm
        /// Sends money by themselves.
        case transfer
        /// Pays a voucher.
        case voucher
    }

    /// How long a bank may take to answer, at most; zero when it answers at once.
    package let settles: Duration
    /// For how long after it was paid the payer or the bank may take it back without the shop; nil for
    /// never.
    package let comesBack: Duration?
    package let act: Act
    /// How long money is held by it where its charge does not say; nil where that is not known.
    package let hold: Duration?
    /// How long a source of it lives until the upstream ends it.
    package let sourceLife: SourceLife
    /// A single-use source of it that is consumed has been paid.
    package let isPaidOnceConsumed: Bool

    private init(
        settles: Int = 0,
        comesBack: Int? = nil,
        act: Act = .confirm,
        holdDays: Int? = nil,
        pendingHours: Int? = nil,
        chargeableHours: Int? = nil,
        isPaidOnceConsumed: Bool = false,
        endsWithDayInChina: Bool = false
    ) {
        self.settles = .seconds(settles * 86_400)
        self.comesBack = comesBack.map { .seconds($0 * 86_400) }
        self.act = act
        hold = holdDays.map { .seconds($0 * 86_400) }
        sourceLife = SourceLife(
            pending: pendingHours.map { .seconds($0 * 3600) },
            chargeable: chargeableHours.map { .seconds($0 * 3600) },
            endsWithDayInChina: endsWithDayInChina
        )
        self.isPaidOnceConsumed = isPaidOnceConsumed
    }

    /// A method nobody has heard of: its bank may take its time, and take it back.
    package static let unknown = MethodTraits(settles: 30, comesBack: 150, act: .nothing)

    /// A voucher of any kind: what is paid at a cash desk is reported a business day or two later.
    package static let voucher = MethodTraits(settles: 6, act: .voucher)

    /// Every method that has traits of its own.
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
        // Of a card, whose charge may be a hold.
        ("three_d_secure", MethodTraits(comesBack: 150)),
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
                act: .voucher,
                pendingHours: 7 * 24,
                chargeableHours: 6,
                isPaidOnceConsumed: true
            )
        ),
        ("card", MethodTraits(comesBack: 150, act: .nothing, holdDays: 7)),
        ("card_present", MethodTraits(comesBack: 150, act: .nothing, holdDays: 2)),
        (
            "interac_present kr_card link samsung_pay",
            MethodTraits(comesBack: 150, act: .nothing)
        ),
        ("sepa_debit", MethodTraits(settles: 24, comesBack: 400, act: .nothing)),
        ("us_bank_account ach_debit", MethodTraits(settles: 10, comesBack: 70, act: .nothing)),
        ("acss_debit", MethodTraits(settles: 11, comesBack: 100, act: .nothing)),
        ("bacs_debit", MethodTraits(settles: 14, comesBack: 400, act: .nothing)),
        ("au_becs_debit nz_bank_account", MethodTraits(settles: 9, comesBack: 400, act: .nothing)),
        ("klarna", MethodTraits(comesBack: 180, holdDays: 28)),
        ("afterpay_clearpay", MethodTraits(comesBack: 180, holdDays: 13)),
        (
            "paypal affirm zip alma billie scalapay sequra sunbit",
            MethodTraits(comesBack: 180)
        ),
        ("blik amazon_pay cashapp revolut_pay", MethodTraits(comesBack: 150)),
        (
            "bizum fpx grabpay kakao_pay mb_way mobilepay naver_pay pay_by_bank payco paynow paypay "
                + "payto pix promptpay satispay swish twint upi",
            MethodTraits()
        ),
        ("boleto oxxo konbini", .voucher),
        (
            "customer_balance ach_credit_transfer sepa_credit_transfer",
            MethodTraits(act: .transfer)
        ),
        ("crypto custom stripe_account", .unknown),
    ]
}
