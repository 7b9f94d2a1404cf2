/// What the sandbox knows about one source type: Stripe's documented flow, usage, life and fields.
struct SourceKind {
    /// The flows it supports, the usual one first.
    let flows: [String]
    let usage: String
    /// Whether either usage may be asked for.
    let isEitherUsage: Bool
    /// The only currencies the method takes; empty for any.
    let currencies: [String]
    /// Owner fields Stripe insists on.
    let ownerRequired: [String]
    /// Fields of the hash named after the type Stripe insists on.
    let detailsRequired: [String]
    /// Fields of that hash that are null until somebody fills them.
    let nullDetails: [String]
    /// Fields with a value from the start: name and JSON.
    let fixedDetails: [(name: String, json: String)]
    /// Whether a charge stays pending for a while.
    let isAsynchronous: Bool
    let expiry: SourceExpiry

    init(
        flows: [String] = ["redirect"],
        usage: String = "single_use",
        isEitherUsage: Bool = false,
        currencies: [String] = [],
        ownerRequired: [String] = [],
        detailsRequired: [String] = [],
        details: [String],
        fixed: [(name: String, json: String)] = [],
        isAsynchronous: Bool = false,
        expiry: SourceExpiry = .redirect
    ) {
        self.flows = flows
        self.usage = usage
        self.isEitherUsage = isEitherUsage
        self.currencies = currencies
        self.ownerRequired = ownerRequired
        self.detailsRequired = detailsRequired
        nullDetails = details
        fixedDetails = fixed
        self.isAsynchronous = isAsynchronous
        self.expiry = expiry
    }

    /// The usual flow.
    var flow: String { flows[0] }

    /// Whether the source has to name an amount.
    func needsAmount(usage: String, type: String) -> Bool {
        usage == "single_use" && type != "card"
    }
}
