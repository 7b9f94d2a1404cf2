/// A verification code from the payer, or the amounts of two small deposits.
public struct Verification: WireObject, Hashable {
    /// The code, or two amounts in the currency's smallest unit, such as `["32", "45"]`.
    public var values: [String]?

    /// Creates a verification with a code or two amounts.
    public init(values: [String]) {
        self.values = values
    }

    package init() {}

    package static let shape = Shape<Verification>(
        request: "Verification",
        "a verification",
        mustBe: #"The body must be an object such as {"values":["32","45"]}"#,
        .keyword("required", #"["values"]"#)
    ) {
        Field("values", \.values, .size(1...2), .each(.pattern("^[A-Za-z0-9]{1,32}$")))
            .note(
                "The code, or two amounts in the smallest unit. Sending the same values again does "
                    + "not use another attempt."
            )
    }
}

/// A refund account: an IBAN, or a US account with its routing number.
public struct RefundAccount: WireObject, Hashable {
    /// The type of holder of a US account.
    public enum HolderType: String, Word { case individual, company }

    /// The account holder.
    public var holder: String?
    /// The IBAN.
    public var iban: String?
    /// The number of a US account.
    public var accountNumber: String?
    /// The routing number of its bank.
    public var routingNumber: String?
    /// The type of holder of a US account; `nil` for an individual.
    public var holderType: Open<HolderType>?

    package init() {}

    package static let shape = Shape<RefundAccount>(
        request: "RefundAccount",
        "an account",
        mustBe: #"The body must be an account, an object such as {"holder":"…","iban":"…"}"#,
        .keyword("required", #"["holder"]"#),
        // No `anyOf` of `required`: generators turn it into an untyped body.
        .keyword(
            "description",
            #""An account to refund to: iban, or account_number with routing_number.""#
        )
    ) {
        Field("holder", \.holder, .length(1...255)).note("The account holder's name.")
        Field("iban", \.iban, .length(15...64))
        Field("account_number", \.accountNumber, .pattern("^[0-9]{4,17}$"))
        Field("routing_number", \.routingNumber, .pattern("^[0-9]{9}$"))
        Field("holder_type", \.holderType).note("Default: individual.")
    }
}

/// The result of a submitted verification.
public struct VerificationResult: WireObject, Hashable {
    /// The result code.
    public enum Result: String, Word {
        /// The values are correct.
        case accepted
        /// The values are wrong.
        case refused
        /// The values, or earlier ones, are wrong, and no attempts remain.
        case exhausted
    }

    /// The result code.
    public var result = Open(Result.refused)
    /// The remaining attempts; `nil` if the upstream does not report them.
    public var attemptsLeft: Int?

    package init() {}

    package static let shape = Shape<VerificationResult>("VerificationResult") {
        Field("result", \.result)
        Field("attempts_left", \.attemptsLeft).note("Left out if the upstream does not report it.")
    }
}
