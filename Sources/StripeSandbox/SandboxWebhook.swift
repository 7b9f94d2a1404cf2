/// A webhook endpoint.
struct SandboxWebhook {
    let id: String
    let url: String
    let secret: String
    let created: Int
    let events: [String]
    let description: String?
    let apiVersion: String?
    let metadata: [String: String]

    func accepts(_ type: String) -> Bool {
        events.contains("*") || events.contains(type)
    }

    /// The secret is shown once, on creation.
    func json(withSecret: Bool) -> [UInt8] {
        JSONWriter.object { writer in
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
            writer.field("status", "enabled")
            writer.field("url", url)
        }
    }
}
