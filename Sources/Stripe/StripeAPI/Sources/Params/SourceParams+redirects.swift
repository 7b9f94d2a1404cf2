// Methods whose customer is sent to a bank's page and comes back. The Source is pending for an hour, then
// chargeable for six.

extension SourceParams {
    /// Bancontact, Belgium, in euros.
    ///
    /// *Source*: <https://docs.stripe.com/sources/bancontact>.
    public static func bancontact(
        amount: Int,
        name: String,
        returnURL: String,
        statementDescriptor: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .bancontact,
            amount: amount,
            currency: "eur",
            owner: SourceOwner(name: name),
            returnURL: returnURL,
            details: fields(["statement_descriptor": .optional(statementDescriptor)])
        )
    }

    /// Giropay, Germany, in euros.
    ///
    /// *Source*: <https://docs.stripe.com/sources/giropay>.
    public static func giropay(
        amount: Int,
        name: String,
        returnURL: String,
        statementDescriptor: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .giropay,
            amount: amount,
            currency: "eur",
            owner: SourceOwner(name: name),
            returnURL: returnURL,
            details: fields(["statement_descriptor": .optional(statementDescriptor)])
        )
    }

    /// iDEAL, Netherlands, in euros; the customer chooses the bank when it is nil.
    ///
    /// *Source*: <https://docs.stripe.com/sources/ideal>.
    public static func ideal(
        amount: Int,
        name: String? = nil,
        returnURL: String,
        statementDescriptor: String? = nil,
        bank: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .ideal,
            amount: amount,
            currency: "eur",
            owner: name.flatMap { $0.isEmpty ? nil : SourceOwner(name: $0) },
            returnURL: returnURL,
            details: fields([
                "statement_descriptor": .optional(statementDescriptor), "bank": .optional(bank),
            ])
        )
    }

    /// Sofort, in euros, at least one.
    ///
    /// The charge stays pending for days. `country` is that of the customer's bank: AT, BE, DE, ES, IT or NL.
    /// *Source*: <https://docs.stripe.com/sources/sofort>.
    public static func sofort(
        amount: Int,
        returnURL: String,
        country: String,
        statementDescriptor: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .sofort,
            amount: amount,
            currency: "eur",
            returnURL: returnURL,
            details: fields([
                "country": .string(country),
                "statement_descriptor": .optional(statementDescriptor),
            ])
        )
    }

    /// EPS, Austria, in euros; its statement descriptor is a field of the Source, not of its hash.
    ///
    /// *Source*: <https://docs.stripe.com/sources/eps>.
    public static func eps(
        amount: Int,
        name: String,
        returnURL: String,
        statementDescriptor: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .eps,
            amount: amount,
            currency: "eur",
            owner: SourceOwner(name: name),
            returnURL: returnURL,
            statementDescriptor: statementDescriptor
        )
    }

    /// Przelewy24, Poland, in `eur` or `pln`.
    ///
    /// *Source*: <https://docs.stripe.com/sources/p24>.
    public static func p24(
        amount: Int,
        currency: String,
        email: String,
        name: String? = nil,
        returnURL: String
    ) -> SourceParams {
        SourceParams(
            type: .p24,
            amount: amount,
            currency: currency,
            owner: SourceOwner(name: name, email: email),
            returnURL: returnURL
        )
    }

    /// Alipay, once; with an app's bundle id Stripe adds a link that opens the Alipay app.
    ///
    /// *Source*: <https://docs.stripe.com/sources/alipay>.
    public static func alipay(
        amount: Int,
        currency: String,
        returnURL: String,
        appBundleID: String? = nil,
        appVersionKey: String? = nil
    ) -> SourceParams {
        SourceParams(
            type: .alipay,
            amount: amount,
            currency: currency,
            returnURL: returnURL,
            details: fields([
                "app_bundle_id": .optional(appBundleID),
                "app_version_key": .optional(appVersionKey),
            ])
        )
    }

    /// Alipay, for any number of charges; without an amount.
    ///
    /// *Source*: <https://docs.stripe.com/sources/alipay>.
    public static func alipayReusable(currency: String, returnURL: String) -> SourceParams {
        SourceParams(type: .alipay, currency: currency, usage: .reusable, returnURL: returnURL)
    }

    /// 3D Secure for a card Source, `src_…`.
    ///
    /// Chargeable at once when ``SourceRedirect/status`` is `not_required`.
    /// *Source*: <https://docs.stripe.com/sources/three-d-secure>.
    public static func threeDSecure(
        amount: Int,
        currency: String,
        returnURL: String,
        card: String
    ) -> SourceParams {
        SourceParams(
            type: .threeDSecure,
            amount: amount,
            currency: currency,
            returnURL: returnURL,
            details: ["card": .string(card)]
        )
    }

    /// The members that have a value.
    static func fields(_ members: [String: JSONValue?]) -> [String: JSONValue] {
        members.compactMapValues { $0 }
    }
}
