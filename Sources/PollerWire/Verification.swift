/// A code that a payer was sent, or the amounts of two small deposits, to be handed in for them.
public struct Verification: WireObject, Hashable {
    /// The code, or two amounts in the smallest unit as `["32", "45"]`.
    public var values: [String]?

    /// Hands in a code, or two amounts.
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
        Field(
            "values",
            \.values,
            .size(1...2),
            .each(.pattern("^[A-Za-z0-9]{1,32}$")),
            note: "The code, or two amounts in the smallest unit. The same values are the same try."
        )
    }
}

/// An account that money goes back to: an IBAN, or an American account with its routing number.
public struct RefundAccount: WireObject, Hashable {
    /// Whose an American account is.
    public enum HolderType: String, Word { case individual, company }

    /// Whose it is.
    public var holder: String?
    /// The account's IBAN.
    public var iban: String?
    /// The number of an American account.
    public var accountNumber: String?
    /// The number of its bank.
    public var routingNumber: String?
    /// Whose an American account is; nil is a person's.
    public var holderType: Open<HolderType>?

    package init() {}

    package static let shape = Shape<RefundAccount>(
        request: "RefundAccount",
        "an account",
        mustBe: #"The body must be an account, an object such as {"holder":"…","iban":"…"}"#,
        .keyword("required", #"["holder"]"#),
        // No anyOf of required: generators make an untyped body of it.
        .keyword(
            "description",
            #""An account to refund to: iban, or account_number with routing_number.""#
        )
    ) {
        Field("holder", \.holder, .length(1...255), note: "Whose account it is.")
        Field("iban", \.iban, .length(15...64))
        Field("account_number", \.accountNumber, .pattern("^[0-9]{4,17}$"))
        Field("routing_number", \.routingNumber, .pattern("^[0-9]{9}$"))
        Field("holder_type", \.holderType, note: "individual when absent.")
    }
}

/// What came of a code that was handed in.
public struct VerificationResult: WireObject, Hashable {
    /// What came of it in one word.
    public enum Result: String, Word {
        /// It is right.
        case accepted
        /// It is wrong.
        case refused
        /// It is wrong, or another was, and no tries are left.
        case exhausted
    }

    /// What came of it in one word.
    public var result = Open(Result.refused)
    /// Tries that are left; nil when the upstream does not say.
    public var attemptsLeft: Int?

    package init() {}

    package static let shape = Shape<VerificationResult>("VerificationResult") {
        Field("result", \.result)
        Field("attempts_left", \.attemptsLeft, note: "Left out when the upstream does not say.")
    }
}
