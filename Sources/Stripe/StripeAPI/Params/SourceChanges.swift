/// What is to change about a Source; what is nil stays.
///
/// *Source*: <https://docs.stripe.com/api/sources/update>. The status cannot be set, by nobody.
public struct SourceChanges: Hashable, Sendable {
    /// In the currency's smallest unit; before the Source is charged.
    public var amount: Int?
    /// Who pays.
    public var owner: SourceOwner?
    /// The customer's consent to be debited.
    public var mandate: SourceMandate?
    /// Free key-value pairs; merged with those there are, an empty text removes one.
    public var metadata: [String: String]
    /// Any other parameter, as `source_order` or the hash named after the type; laid over the fields above.
    public var additionalAPIParameters: [String: JSONValue]

    /// Describes changes.
    public init(
        amount: Int? = nil,
        owner: SourceOwner? = nil,
        mandate: SourceMandate? = nil,
        metadata: [String: String] = [:],
        additionalAPIParameters: [String: JSONValue] = [:]
    ) {
        self.amount = amount
        self.owner = owner
        self.mandate = mandate
        self.metadata = metadata
        self.additionalAPIParameters = additionalAPIParameters
    }

    /// The form's fields.
    public var form: [(String, String)] {
        let fields = JSONValue.fields([
            "amount": .optional(amount), "owner": owner?.parameters.unlessEmpty,
            "mandate": mandate?.parameters.unlessEmpty, "metadata": .texts(metadata),
        ])
        return FormFields.pairs(of: fields.merging(.object(additionalAPIParameters)))
    }
}

extension SourceChanges: RedactedValue {}
