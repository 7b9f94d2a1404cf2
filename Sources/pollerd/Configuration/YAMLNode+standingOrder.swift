import Poller

extension YAMLNode {
    /// What an account charges for each source that becomes chargeable; nil for `false`.
    ///
    /// *Shape*: `true`, or any of `{description: Acme, statement_descriptor: ACME, metadata: {shop: "7"}}`. The amount
    /// is always the source's own: one for all of them would be a mistake.
    func standingOrder() throws(ConfigurationError) -> ChargeOrder? {
        if let text = try? text() {
            switch text {
            case "true": return .whole
            case "false": return nil
            default: throw wrong("must be true, false or a mapping")
            }
        }
        _ = try members(allowed: ["description", "statement_descriptor", "metadata"])
        let note = try member("description")?.text()
        let descriptor = try member("statement_descriptor")?.text()
        var metadata: [String: String] = [:]
        for (name, value) in try member("metadata")?.members() ?? [] {
            metadata[name] = try value.text()
        }
        return try checked { () throws(InvalidInput) in
            try ChargeOrder(note: note, statementDescriptor: descriptor, metadata: metadata)
        }
    }
}
