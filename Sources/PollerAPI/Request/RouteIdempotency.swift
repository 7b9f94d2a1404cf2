/// The effect of a client's `Idempotency-Key`.
enum RouteIdempotency: Hashable, Sendable {
    /// No effect: the header is ignored.
    case unknown
    /// The header is checked and not stored, because repeating the request is harmless; with the reason.
    case inherent(String)
    /// A repeat with the same key gets the response to the first request.
    ///
    /// `whenFull`: also while the store is full. Enqueue requests do not need this: a full store rejects them anyway,
    /// and each attempt would need more memory.
    case kept(whenFull: Bool)

    /// A repeat gets the response to the first request, also while the store is full.
    static let kept = Self.kept(whenFull: true)

    /// The header parameter in the description.
    var parameters: [RouteParameter] {
        let description: String
        switch self {
        case .unknown: return []
        case .inherent(let reason):
            description = "Checked, but not stored: \(reason)."
        case .kept:
            description = """
                Stored for a day: a repeat with the same key and content has no further effect and receives the \
                same response, with Idempotent-Replayed: true.
                """
        }
        return [
            RouteParameter(
                name: "Idempotency-Key",
                location: .header,
                description: description,
                schema: [
                    "type": "string", "minLength": 1, "maxLength": 255,
                    "pattern": "^[!-~]([ -~]*[!-~])?$",
                ]
            )
        ]
    }

    /// The problem statuses.
    var problems: [Int] {
        if case .kept = self { [409] } else { [] }
    }

    /// The headers of a response that may be replayed.
    var headers: [String: SchemaNode] {
        guard case .kept = self else { return [:] }
        return [
            "Idempotent-Replayed": [
                "description":
                    "true if this is the stored response to an earlier request.",
                "schema": ["type": "string", "enum": ["true"]],
            ]
        ]
    }
}
