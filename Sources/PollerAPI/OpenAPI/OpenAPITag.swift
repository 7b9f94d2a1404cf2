import PollerIdentity

/// The resource of an operation.
///
/// Generators create a class or a module per tag.
enum OpenAPITag {
    /// The tags in document order, with the first path segments below `/v1`.
    private static let tags: [(name: String, description: String, segments: [String])] = [
        ("watches", "Payments and other watched sources.", ["watches"]),
        ("orders", "Orders that one or several watches pay.", ["orders"]),
        (
            "events", "Recorded events, and tokens for browsers that follow them.",
            ["events", "stream_tokens"]
        ),
        ("endpoints", "Registered recipients of an account's events.", ["endpoints"]),
        ("deliveries", "Events sent to each recipient, with their attempts.", ["deliveries"]),
        ("mail", "Bounced emails, and addresses that receive none.", ["mail"]),
        ("lanes", "Rate limits and pauses of upstreams.", ["lanes"]),
        (
            "quarantine", "Watches and entries that could not be processed and need an operator.",
            ["quarantine"]
        ),
        ("accounts", "Accounts at upstreams.", ["accounts"]),
        ("keys", "API keys, and the permissions of the current one.", ["keys", "caller"]),
        ("audit", "The audit log: each change with its key and time.", ["audit"]),
        (
            "cluster", "Processes, counts, checks and incidents.",
            ["stats", "workers", "doctor", "incidents"]
        ),
        ("stripe", "Webhooks from Stripe.", ["stripe"]),
        ("description", "This API description.", ["openapi.json"]),
        ("pages", "Pages for people.", []),
    ]

    /// Returns the tag of an operation, which depends on its path.
    static func name(of route: RouteDescription) -> String {
        let segments = route.path.split(separator: "/").map(String.init)
        let segment = segments.first == "v1" ? segments.dropFirst().first : segments.first
        let found = tags.first { tag in segment.map { tag.segments.contains($0) } ?? false }
        return found?.name ?? (route.isPage ? "pages" : "cluster")
    }

    /// Returns the tags of some operations, with their descriptions.
    static func all(of routes: [RouteDescription]) -> [SchemaNode] {
        let used = Set(routes.map { name(of: $0) })
        return tags.filter { used.contains($0.name) }.map { tag in
            ["name": .text(tag.name), "description": .text(tag.description)]
        }
    }
}

extension RouteDescription {
    /// Whether the route is a page for people or a file of one, which API clients do not use.
    var isPage: Bool { !path.hasPrefix("/v1/") && path != OpenAPI.route.description.path }
}
