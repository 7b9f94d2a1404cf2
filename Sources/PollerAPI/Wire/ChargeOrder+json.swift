import Poller

extension ChargeOrder {
    private static let fields = [
        "amount", "currency", "description", "statement_descriptor", "metadata",
    ]

    /// Reads the `charge` of a watch: true, false, or an object; nil for null.
    ///
    /// Errors: a ``Problem`` that names the field.
    static func reading(_ value: JSONValue?) throws(Problem) -> ChargeOrder? {
        switch value {
        case nil, .null: return nil
        case .bool(false): return .nothing
        case .bool(true): return .whole
        case .object(let members):
            for member in members where !fields.contains(member.name) {
                let shown = String(member.name.prefix(64))
                throw Problem(
                    .unknownField,
                    "charge.\(shown) is not known; a charge has \(fields.joined(separator: ", ")).",
                    field: "charge.\(shown)"
                )
            }
            return try order(RequestFields(members))
        case .some(let other):
            throw Problem(
                .wrongType,
                "charge must be true, false or an object such as {\"amount\":1099}, not \(other.typeName).",
                field: "charge"
            )
        }
    }

    private static func order(_ body: RequestFields) throws(Problem) -> ChargeOrder {
        let amount = try body.integer("amount", in: 1...99_999_999_999)
        let currency = try body.string("currency")
        let note = try body.string("description")
        let descriptor = try body.string("statement_descriptor")
        let metadata = try body.texts("metadata")
        return try Problem.checked { () throws(InvalidInput) in
            try ChargeOrder(
                amount: amount,
                currency: currency,
                note: note,
                statementDescriptor: descriptor,
                metadata: metadata
            )
        }
    }
}
