import NIOCore

/// An event: its object is the JSON of the moment and never rendered again.
struct SandboxEvent {
    let id: String
    let type: String
    let created: Int
    /// The connected account it happened in; nil is the platform's own.
    let account: String?
    let object: ByteBuffer
    /// What the object's changed fields were before, of updates.
    let previous: [UInt8]?
    let requestID: String?
    let idempotencyKey: String?
    /// The endpoints that have not taken it yet.
    var pending: [String]

    func json() -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "event")
            if let account { writer.field("account", account) }
            writer.field("api_version", SandboxState.apiVersion)
            writer.field("created", created)
            writer.key("data")
            writer.object { writer in
                writer.field("object", raw: object.readableBytesView)
                if let previous { writer.field("previous_attributes", raw: previous) }
            }
            writer.field("livemode", false)
            writer.field("pending_webhooks", pending.count)
            writer.key("request")
            writer.object { writer in
                writer.field("id", requestID)
                writer.field("idempotency_key", idempotencyKey)
            }
            writer.field("type", type)
        }
    }
}
