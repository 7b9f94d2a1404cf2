import Poller
import PollerIdentity

/// The resource of an operation.
///
/// Generators create a class or a module per tag.
enum OpenAPITag {
    /// The tags in document order, with the first path segments below `/v1`.
    private static let tags: [(name: String, description: String, segments: [String])] = [
        ("watches", "Payments and other sources that are watched.", ["watches"]),
        ("orders", "What is paid by one or several watches.", ["orders"]),
        (
            "events", "What happened, and tokens for browsers that follow it.",
            ["events", "stream_tokens"]
        ),
        ("endpoints", "Receivers that are registered for an account.", ["endpoints"]),
        ("deliveries", "What each receiver has been sent.", ["deliveries"]),
        ("mail", "Emails that came back, and addresses that get none.", ["mail"]),
        ("lanes", "Limits and pauses of upstreams.", ["lanes"]),
        ("quarantine", "What could not be processed and waits for a person.", ["quarantine"]),
        ("accounts", "Accounts at upstreams.", ["accounts"]),
        ("keys", "Keys of this API, and who holds the one that is sent.", ["keys", "caller"]),
        ("audit", "The audit trail: each change with its key and its time.", ["audit"]),
        (
            "cluster", "Processes, counts, checks and incidents.",
            ["stats", "workers", "doctor", "incidents"]
        ),
        ("stripe", "Webhooks that Stripe sends.", ["stripe"]),
        ("description", "This description.", ["openapi.json"]),
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
