// Payment methods without a redirect: cards and wallets, debits, and transfers made by the customer.

extension SourceParams {
    /// Creates the parameters of a card Source, which is chargeable immediately and should be charged within minutes.
    ///
    /// Handling card numbers on a server is in scope of PCI DSS; use a ``token`` if possible.
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

    /// Creates the parameters of a SEPA direct debit in euros.
    ///
    /// The Source is reusable and chargeable immediately, but a debit may fail up to 14 business days later. The
    /// customer must have accepted a mandate; see ``SourceMandate``.
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

    /// Creates the parameters of a card from Visa Checkout, by the wallet's call ID.
    public static func visaCheckout(callID: String) -> SourceParams {
        SourceParams(type: .card, details: ["visa_checkout": ["callid": .string(callID)]])
    }

    /// Creates the parameters of a card from Masterpass, by the wallet's cart and transaction IDs.
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

    /// Creates the parameters of a Multibanco payment (Portugal, euros), which the customer makes at an ATM within
    /// seven days.
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

    /// Creates the parameters for receiving US credit transfers in dollars; reusable, without an amount.
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

    /// Creates the parameters for receiving European credit transfers in euros; reusable, without an amount.
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

    /// Creates the parameters of a WeChat Pay payment.
    ///
    /// The customer scans a QR code or opens the app with the given ID.
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

    /// Creates the parameters of a Bitcoin Source.
    ///
    /// Stripe ended Bitcoin in 2018; old integrations still use the name.
    public static func bitcoin(amount: Int, currency: String, email: String) -> SourceParams {
        SourceParams(
            type: SourceType(rawValue: "bitcoin"),
            amount: amount,
            currency: currency,
            owner: SourceOwner(email: email)
        )
    }
}

/// The card data entered by the customer; it prints only its type's name.
public struct CardParams: Hashable, Sendable, RedactedValue {
    /// The card number without spaces.
    public var number: String?
    /// The security code: three or four digits.
    public var cvc: String?
    /// The expiry month, 1 to 12.
    public var expMonth: Int?
    /// The expiry year, two or four digits.
    public var expYear: Int?
    /// The cardholder's name, sent as the owner's.
    public var name: String?
    /// The cardholder's address, sent as the owner's.
    public var address: StripeAddress?

    /// Creates card parameters.
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
