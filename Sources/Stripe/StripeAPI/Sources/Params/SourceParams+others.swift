// Methods without a redirect: cards and wallets, debits, and payments the customer pushes.

extension SourceParams {
    /// A card; chargeable at once, to be charged within minutes.
    ///
    /// Card numbers on a server are in scope of PCI DSS; use a ``token`` where you can.
    /// *Source*: <https://docs.stripe.com/sources/cards>.
    public static func card(_ card: CardParams) -> SourceParams {
        SourceParams(
            type: .card,
            owner: SourceOwner(name: card.name, address: card.address),
            details: fields([
                "number": .optional(card.number), "cvc": .optional(card.cvc),
                "exp_month": .optional(card.expMonth), "exp_year": .optional(card.expYear),
            ])
        )
    }

    /// SEPA direct debit, in euros; reusable, chargeable at once, may fail up to 14 business days later.
    ///
    /// The customer must have agreed to a mandate; see ``SourceMandate``.
    /// *Source*: <https://docs.stripe.com/sources/sepa-debit>.
    public static func sepaDebit(
        name: String,
        iban: String,
        addressLine1: String? = nil,
        city: String? = nil,
        postalCode: String? = nil,
        country: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .sepaDebit,
            currency: "eur",
            owner: SourceOwner(
                name: name,
                address: StripeAddress(
                    line1: addressLine1,
                    city: city,
                    postalCode: postalCode,
                    country: country
                )
            ),
            details: ["iban": .string(iban)]
        )
    }

    /// Visa Checkout: a card by the wallet's call id.
    public static func visaCheckout(callID: String) -> SourceParams {
        SourceParams(type: .card, details: ["visa_checkout": ["callid": .string(callID)]])
    }

    /// Masterpass: a card by the wallet's cart and transaction.
    public static func masterpass(cartID: String, transactionID: String) -> SourceParams {
        SourceParams(
            type: .card,
            details: [
                "masterpass": [
                    "cart_id": .string(cartID), "transaction_id": .string(transactionID),
                ]
            ]
        )
    }

    /// Multibanco, Portugal, in euros; the customer pays at an ATM within seven days.
    ///
    /// *Source*: <https://docs.stripe.com/sources/multibanco>.
    public static func multibanco(
        amount: Int,
        returnURL: String,
        email: String
    ) -> SourceParams {
        SourceParams(
            type: .multibanco,
            amount: amount,
            currency: "eur",
            owner: SourceOwner(email: email),
            returnURL: returnURL
        )
    }

    /// An American credit transfer the customer sends, in dollars; reusable, no amount.
    ///
    /// *Source*: <https://docs.stripe.com/sources/ach-credit-transfer>.
    public static func achCreditTransfer(
        email: String,
        refundAttributesMethod: RefundAttributesMethod? = nil
    ) -> SourceParams {
        SourceParams(
            type: .achCreditTransfer,
            currency: "usd",
            owner: SourceOwner(email: email),
            refundAttributesMethod: refundAttributesMethod
        )
    }

    /// A European credit transfer the customer sends, in euros; reusable, no amount.
    ///
    /// *Source*: <https://docs.stripe.com/sources/sepa-credit-transfer>.
    public static func sepaCreditTransfer(
        name: String? = nil,
        email: String? = nil,
        refundAttributesMethod: RefundAttributesMethod? = nil
    ) -> SourceParams {
        SourceParams(
            type: .sepaCreditTransfer,
            currency: "eur",
            owner: SourceOwner(name: name, email: email),
            refundAttributesMethod: refundAttributesMethod
        )
    }

    /// WeChat Pay; the customer scans a code or opens the app with the given id.
    ///
    /// *Source*: <https://docs.stripe.com/sources/wechat-pay>.
    public static func weChatPay(
        amount: Int,
        currency: String,
        appID: String,
        statementDescriptor: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .wechat,
            amount: amount,
            currency: currency,
            details: fields([
                "appid": .string(appID),
                "statement_descriptor": .optional(statementDescriptor),
            ])
        )
    }

    /// Bitcoin, which Stripe stopped taking in 2018; kept because old integrations name it.
    public static func bitcoin(amount: Int, currency: String, email: String) -> SourceParams {
        SourceParams(
            type: SourceType(rawValue: "bitcoin"),
            amount: amount,
            currency: currency,
            owner: SourceOwner(email: email)
        )
    }
}

/// A card as its holder reads it out; printed as nothing but its type's name.
public struct CardParams: Hashable, Sendable, RedactedValue {
    /// Digits without spaces.
    public var number: String?
    /// Three digits, or four.
    public var cvc: String?
    /// 1 to 12.
    public var expMonth: Int?
    /// Two digits or four.
    public var expYear: Int?
    /// The holder's name, sent as the owner's.
    public var name: String?
    /// The holder's address, sent as the owner's.
    public var address: StripeAddress?

    /// Describes a card.
    public init(
        number: String? = nil,
        cvc: String? = nil,
        expMonth: Int? = nil,
        expYear: Int? = nil,
        name: String? = nil,
        address: StripeAddress? = nil
    ) {
        self.number = number
        self.cvc = cvc
        self.expMonth = expMonth
        self.expYear = expYear
        self.name = name
        self.address = address
    }
}
