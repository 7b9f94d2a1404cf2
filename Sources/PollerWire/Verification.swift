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
