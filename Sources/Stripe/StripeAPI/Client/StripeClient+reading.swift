/// What all typed calls share.
extension StripeClient {
    /// Reads one object of a collection.
    func retrieve<Value: Decodable>(
        _ collection: String,
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ timeout: Duration?
    ) async throws(StripeError) -> Value {
        let path = try StripeCall.path(collection, id)
        let query = clientSecret.map { [("client_secret", $0.rawValue)] } ?? []
        return try await perform(StripeCall(.get, path, query: query), timeout: timeout)
    }

    /// Reads one page of a collection.
    func list<Element: Codable & Sendable>(
        _ path: String,
        _ filters: [(String, String)],
        _ cursor: PageCursor?,
        _ limit: Int
    ) async throws(StripeError) -> StripeList<Element> {
        guard (1...100).contains(limit) else {
            throw .invalidRequest("a page has 1 to 100 objects, not \(limit)")
        }
        var query = filters
        query.append(("limit", String(limit)))
        if let cursor { query.append(cursor.parameter) }
        return try await perform(StripeCall(.get, path, query: query))
    }

    /// Sends a command to one object of a collection, as `confirm`.
    func command<Value: Decodable>(
        _ collection: String,
        _ id: String,
        _ verb: String? = nil,
        form: [(String, String)],
        idempotencyKey: String?
    ) async throws(StripeError) -> Value {
        let path = try StripeCall.path(collection, id, tail: verb.map { "/" + $0 } ?? "")
        return try await perform(
            StripeCall(.post, path, form: form, idempotencyKey: idempotencyKey)
        )
    }
}
