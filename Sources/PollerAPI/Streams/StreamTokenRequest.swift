package import Poller

/// What `POST /v1/stream_tokens` asks for.
///
/// *Shape*: `{"account":"default","sources":["src_…"],"types":["source.*"],"view":"public",
/// "ttl":"10m"}`, each optional; what is absent does not narrow the token.
package struct StreamTokenRequest: Hashable, Sendable {
    /// The longest a token may live: it is handed to browsers, and cannot be revoked.
    package static let ttlMax = Duration.seconds(3600)
    /// As long as customers stay on a page; who stays longer asks for another.
    package static let ttlStandard = Duration.seconds(600)

    private static let fields = ["account", "sources", "types", "view", "ttl"]

    /// Whose events.
    package let account: AccountID
    /// Of these sources only; nil for all of the account.
    package let sources: [String]?
    /// Of these types only, such as `source.*`; nil for all.
    package let types: [String]?
    /// Whether events are shown as they were recorded, rather than what a customer may see.
    package let isFull: Bool
    /// How long it lives.
    package let ttl: Duration

    /// Checks a request.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(json: JSONValue) throws(Problem) {
        let body = try RequestFields(
            json,
            of: "a token",
            such: #"{"sources":["src_…"]}"#,
            known: Self.fields
        )
        let named = try body.string("account")
        account = try Problem.checked { () throws(InvalidInput) in
            try named.map { text throws(InvalidInput) in try AccountID(text) } ?? .main
        }
        // An empty list would be a token for nothing: whoever sends one means something else.
        sources = body.isGiven("sources") ? try body.strings("sources") : nil
        types = body.isGiven("types") ? try body.strings("types") : nil
        let view = try body.string("view") ?? "public"
        guard ["public", "full"].contains(view) else {
            throw Problem(.invalidValue, "view must be public or full.", field: "view")
        }
        isFull = view == "full"
        ttl = try body.duration("ttl") ?? Self.ttlStandard
        guard (.seconds(1)...Self.ttlMax).contains(ttl) else {
            throw Problem(.invalidValue, "ttl must be 1s to 1h.", field: "ttl")
        }
    }
}
