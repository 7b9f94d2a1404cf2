// Payment methods with a redirect to a bank's page. The Source is pending for up to one hour, and then chargeable for
// six hours.

extension SourceParams {
    /// Creates the parameters of a Bancontact payment (Belgium, euros).
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

    /// Creates the parameters of a Giropay payment (Germany, euros).
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

    /// Creates the parameters of an iDEAL payment (Netherlands, euros).
    ///
    /// Without a bank the customer chooses one.
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

    /// Creates the parameters of a Sofort payment of at least one euro.
    ///
    /// The charge stays pending for days. `country` is the country of the customer's bank: AT, BE, DE, ES, IT or NL.
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

    /// Creates the parameters of an EPS payment (Austria, euros).
    ///
    /// The descriptor is a field of the Source, not of its hash.
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

    /// Creates the parameters of a Przelewy24 payment (Poland, `eur` or `pln`).
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

    /// Creates the parameters of a single Alipay payment.
    ///
    /// With an app bundle ID, Stripe adds a link to the Alipay app.
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

    /// Creates the parameters of a reusable Alipay Source without an amount.
    ///
    /// *Source*: <https://docs.stripe.com/sources/alipay>.
    public static func alipayReusable(currency: String, returnURL: String) -> SourceParams {
        SourceParams(type: .alipay, currency: currency, usage: .reusable, returnURL: returnURL)
    }

    /// Creates the parameters of a 3D Secure authentication for a card Source, `src_…`.
    ///
    /// The Source is chargeable immediately when ``SourceRedirect/status`` is `not_required`.
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

    /// Returns the members that have a value.
    static func fields(_ members: [String: JSONValue?]) -> [String: JSONValue] {
        members.compactMapValues { $0 }
    }
}
