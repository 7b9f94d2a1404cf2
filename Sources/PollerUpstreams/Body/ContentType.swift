/// Checks the declared type of a response body.
enum ContentType {
    /// Returns the reason why a body with these headers is not the requested JSON, or `nil` if it may be.
    static func objection(to type: String?, encodedAs encoding: String?) -> String? {
        guard isJSON(type) else { return "the content type is not JSON" }
        // Requests accept no encoding, so only an intermediary can have encoded the body.
        guard let encoding, encoding.lowercased() != "identity" else { return nil }
        return "the body is encoded as \(encoding.prefix(20)), which was not asked for"
    }

    /// Whether the header declares JSON; a missing header counts as JSON.
    static func isJSON(_ header: String?) -> Bool {
        guard let header else { return true }
        // Stripe's own spelling. Comparing it is cheaper than the copy in lower case below.
        if header == "application/json" { return true }
        let type = header.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
