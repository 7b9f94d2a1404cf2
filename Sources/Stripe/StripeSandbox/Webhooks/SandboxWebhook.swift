import NIOCore

/// A webhook endpoint.
struct SandboxWebhook {
    /// Whose events it gets.
    enum Reach {
        /// Those of its own account.
        case own
        /// Those of connected accounts, as `connect=true` asks for.
        case connected
        /// All of them; the one on the command line.
        case everything
    }

    let id: String
    let account: String?
    let created: Int
    var url: String
    var secret: String
    /// The secret before the last roll, which signs as well until the machine's time given.
    var oldSecret: (text: String, untilMs: Int64)?
    var events: [String]
    var description: String?
    var apiVersion: String?
    var metadata: [String: String] = [:]
    var isEnabled = true
    let reach: Reach

    init(
        id: String,
        account: String?,
        created: Int,
        url: String,
        secret: String,
        events: [String],
        description: String?,
        reach: Reach
    ) {
        self.id = id
        self.account = account
        self.created = created
        self.url = url
        self.secret = secret
        self.events = events
        self.description = description
        self.reach = reach
    }

    func accepts(_ type: String, from source: String?) -> Bool {
        let isReached =
            switch reach {
            case .own: source == account
            case .connected: source != nil && source != account
            case .everything: true
            }
        return isEnabled && isReached && (events.contains("*") || events.contains(type))
    }

    /// The secret is shown once, on creation.
    func json(withSecret: Bool) -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "webhook_endpoint")
                writer.field("api_version", apiVersion)
                writer.nulls("application")
                writer.field("created", created)
                writer.field("description", description)
                writer.field("enabled_events", events)
                writer.field("livemode", false)
                writer.field("metadata", metadata)
                if withSecret { writer.field("secret", secret) }
                writer.field("status", isEnabled ? "enabled" : "disabled")
                writer.field("url", url)
            }
        )
    }
}
