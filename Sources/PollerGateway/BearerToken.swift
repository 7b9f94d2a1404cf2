import NIOHTTP1

/// Where a request carries its key or token.
enum BearerToken {
    /// What a WebSocket client puts before its token among the subprotocols.
    ///
    /// Browsers cannot set headers. JWTs are made of the characters a subprotocol may have (RFC 6455 §4.1).
    static let subprotocolPrefix = "poller.token."

    /// The token of `Authorization: Bearer …`, or of a subprotocol; nil when there is none.
    static func text(in head: HTTPRequestHead) -> String? {
        if let value = head.headers.first(name: "authorization"),
            value.lowercased().hasPrefix("bearer ")
        {
            return String(value.dropFirst("bearer ".count).drop { $0 == " " })
        }
        return head.headers[canonicalForm: "sec-websocket-protocol"]
            .first { $0.hasPrefix(subprotocolPrefix) }
            .map { String($0.dropFirst(subprotocolPrefix.count)) }
    }
}
