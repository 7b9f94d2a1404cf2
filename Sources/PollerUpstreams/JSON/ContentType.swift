/// What a response says its body is.
enum ContentType {
    /// Whether a body claims to be JSON; a missing header is no claim to the contrary.
    static func isJSON(_ header: String?) -> Bool {
        guard let header else { return true }
        let type = header.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
